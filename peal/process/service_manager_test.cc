// SPDX-License-Identifier: BSD-3-Clause
// ServiceManager: the test acts as the manager, opens sockets and receives the datagrams.
#include <peal/process/service_manager.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <peal/engine/listening_socket.h>

namespace peal {
namespace {

// Sets or removes an environment variable until the test ends.
class Variable {
 public:
  Variable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }
  ~Variable() { ::unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

class FakeManager {
 public:
  explicit FakeManager(const std::string& address) : path_(address) {
    const SocketAddress parsed = SocketAddress::parse("unix:" + address).value();
    EXPECT_EQ(::bind(fd_.get(), parsed.data(), parsed.size()), 0);
  }
  ~FakeManager() {
    if (path_.starts_with('/')) ::unlink(path_.c_str());
  }
  FakeManager(const FakeManager&) = delete;
  FakeManager& operator=(const FakeManager&) = delete;

  int fd() const { return fd_.get(); }
  // Returns the oldest message that was not returned yet; empty if there is none.
  std::string next() {
    std::array<char, 4096> room{};
    const ssize_t size = ::recv(fd_.get(), room.data(), room.size(), MSG_DONTWAIT);
    return size < 0 ? std::string() : std::string(room.data(), static_cast<size_t>(size));
  }

 private:
  std::string path_;
  Fd fd_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

std::string path_of(std::string_view name) {
  return (std::filesystem::temp_directory_path() / fmt::format("peal-manager-{}-{}", ::getpid(), name)).string();
}

// Calls take_listen_fds() in a child process, whose fds 3, 4, ... may be replaced, and passes the result to `judge`.
void in_child(const std::function<bool()>& judge) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool good = false;
    good = judge();
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Duplicates two sockets to fds 3 and 4, as a manager does before execve(2).
void hand_over_two(std::string_view names) {
  for (const int place : {3, 4}) {
    Fd socket = open_listening_socket(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
    if (socket.get() == place) {
      ::fcntl(place, F_SETFD, 0);
      std::ignore = socket.release();
    } else {
      ::dup2(socket.get(), place);
    }
  }
  ::setenv("LISTEN_FDS", "2", 1);
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  if (!names.empty()) ::setenv("LISTEN_FDNAMES", std::string(names).c_str(), 1);
}

TEST(ListenFds, sockets_come_with_their_names_and_once) {
  in_child([] {
    hand_over_two("http:admin");
    const std::vector<InheritedSocket> sockets = take_listen_fds();
    bool good = sockets.size() == 2 && sockets[0].name == "http" && sockets[1].name == "admin";
    for (size_t i = 0; good && i < 2; ++i) {
      good = sockets[i].fd.get() == static_cast<int>(3 + i) && listening_address(sockets[i].fd.get()) &&
             (::fcntl(sockets[i].fd.get(), F_GETFD) & FD_CLOEXEC) != 0;
    }
    return good && take_listen_fds().empty() && std::getenv("LISTEN_FDS") == nullptr &&
           std::getenv("LISTEN_PID") == nullptr && std::getenv("LISTEN_FDNAMES") == nullptr;
  });
}

// A promised fd that was closed may have been opened again by this process.
TEST(ListenFds, an_fd_that_this_process_has_opened_itself_is_left_alone) {
  in_child([] {
    hand_over_two("http:admin");
    ::fcntl(4, F_SETFD, FD_CLOEXEC);
    const std::vector<InheritedSocket> sockets = take_listen_fds();
    return sockets.size() == 1 && sockets[0].fd.get() == 3 && ::fcntl(4, F_GETFD) == FD_CLOEXEC;
  });
}

TEST(ListenFds, a_service_takes_those_of_its_name_or_where_there_are_none_all) {
  in_child([] {
    hand_over_two("http:admin");
    std::vector<InheritedSocket> sockets = take_listen_fds();
    const bool none = take_named(sockets, "other", false).empty() && sockets.size() == 2;
    const std::vector<InheritedSocket> admin = take_named(sockets, "admin", true);
    const bool one = admin.size() == 1 && admin[0].fd.get() == 4 && sockets.size() == 1;
    return none && one && take_named(sockets, "other", true).size() == 1 && sockets.empty();
  });
}

TEST(ListenFds, are_described_by_what_they_are) {
  in_child([] {
    const Fd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const InheritedSocket dns{Fd(::dup(datagrams.get())), "dns"};
    const InheritedSocket file{Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "file"};
    return describe(dns) == fmt::format("fd {} (dns), a datagram socket at 0.0.0.0:0", dns.fd.get()) &&
           describe(file) == fmt::format("fd {} (file), no socket", file.fd.get()) &&
           !listening_address(dns.fd.get()) && !listening_address(file.fd.get());
  });
}

// A SOCK_SEQPACKET socket listens, but is no stream socket.
TEST(ListenFds, a_socket_of_packets_takes_no_connections) {
  in_child([] {
    const InheritedSocket packets{Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)), "packets"};
    const sockaddr_un unnamed{.sun_family = AF_UNIX, .sun_path = {}};
    return ::bind(packets.fd.get(), reinterpret_cast<const sockaddr*>(&unnamed), sizeof(sa_family_t)) == 0 &&
           ::listen(packets.fd.get(), 1) == 0 && listening_address(packets.fd.get()).error() == errno_code(EINVAL);
  });
}

TEST(ListenFds, missing_names_are_unknown) {
  in_child([] {
    hand_over_two("");
    const std::vector<InheritedSocket> sockets = take_listen_fds();
    return sockets.size() == 2 && sockets[0].name == "unknown" && sockets[1].name == "unknown";
  });
  in_child([] {
    hand_over_two("one");
    const std::vector<InheritedSocket> sockets = take_listen_fds();
    return sockets.size() == 2 && sockets[0].name == "one" && sockets[1].name == "unknown";
  });
}

TEST(ListenFds, sockets_of_another_process_are_left_alone) {
  in_child([] {
    hand_over_two("");
    ::setenv("LISTEN_PID", "1", 1);
    return take_listen_fds().empty() && ::fcntl(3, F_GETFD) >= 0 && std::getenv("LISTEN_FDS") == nullptr;
  });
}

TEST(ListenFds, nonsense_is_nothing) {
  for (const char* count : {"", "-1", "two", "999999999", "2x"}) {
    in_child([count] {
      hand_over_two("");
      ::setenv("LISTEN_FDS", count, 1);
      return take_listen_fds().empty();
    });
  }
}

TEST(ListenFds, a_promised_fd_that_is_not_open_is_left_out) {
  in_child([] {
    hand_over_two("http:admin");
    ::close(3);
    const std::vector<InheritedSocket> sockets = take_listen_fds();
    return sockets.size() == 1 && sockets[0].name == "admin";
  });
}

TEST(ServiceManager, states_are_told_as_lines) {
  for (const std::string& address : {path_of("notify"), "@" + path_of("notify")}) {
    FakeManager manager(address);
    const Variable socket("NOTIFY_SOCKET", address);
    const ServiceManager service;
    EXPECT_TRUE(service.present());
    service.ready();
    EXPECT_EQ(manager.next(), "READY=1");
    service.ready("two\nworkers");
    EXPECT_EQ(manager.next(), "READY=1\nSTATUS=two workers");
    service.status("all is well");
    EXPECT_EQ(manager.next(), "STATUS=all is well");
    service.stopping();
    EXPECT_EQ(manager.next(), "STOPPING=1");
    service.watchdog();
    EXPECT_EQ(manager.next(), "WATCHDOG=1");
    service.succeeded_by(17);
    EXPECT_EQ(manager.next(), "MAINPID=17\nREADY=1\nSTATUS=process 17 serves");
    EXPECT_TRUE(service.notify("FDSTORE=0"));
    EXPECT_EQ(manager.next(), "FDSTORE=0");
    EXPECT_STREQ(std::getenv("NOTIFY_SOCKET"), address.c_str()) << "children may be the service's voice, too";
  }
}

TEST(ServiceManager, reloading_says_since_when_on_the_monotonic_clock) {
  FakeManager manager(path_of("reload"));
  const Variable socket("NOTIFY_SOCKET", path_of("reload"));
  const auto micros = [] { return monotonic_now().time_since_epoch() / std::chrono::microseconds(1); };
  const int64_t before = micros();
  ServiceManager().reloading();
  const std::string told = manager.next();
  const std::string_view head = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_TRUE(told.starts_with(head)) << told;
  const int64_t since = std::stoll(told.substr(head.size()));
  EXPECT_GE(since, before);
  EXPECT_LE(since, micros());
}

TEST(ServiceManager, without_one_nothing_is_told_and_nothing_fails) {
  const Variable socket("NOTIFY_SOCKET", std::nullopt);
  const ServiceManager service;
  EXPECT_FALSE(service.present());
  EXPECT_TRUE(service.notify("READY=1"));
  EXPECT_FALSE(service.watchdog_interval());
}

TEST(ServiceManager, one_that_cannot_be_reached_is_an_error_not_an_end) {
  const std::vector<std::pair<std::string, std::errc>> places = {
      {path_of("nobody"), std::errc::no_such_file_or_directory},
      {"@" + path_of("nobody"), std::errc::connection_refused},
      {"vsock:2:1234", std::errc::not_supported},
      {"/" + std::string(200, 'x'), std::errc::filename_too_long}};
  for (const auto& [place, error] : places) {
    const Variable socket("NOTIFY_SOCKET", place);
    EXPECT_EQ(ServiceManager().notify("READY=1").error(), error) << place;
  }
}

TEST(ServiceManager, watchdog_is_for_the_process_it_names) {
  const std::string self = std::to_string(::getpid());
  const Variable interval("WATCHDOG_USEC", "3000000");
  {
    const Variable whose("WATCHDOG_PID", std::nullopt);
    EXPECT_EQ(ServiceManager().watchdog_interval(), std::chrono::seconds(3));
  }
  for (const std::string& pid : {self, std::string("1")}) {
    const Variable whose("WATCHDOG_PID", pid);
    EXPECT_EQ(ServiceManager().watchdog_interval().has_value(), pid == self);
  }
  const Variable nonsense("WATCHDOG_USEC", "soon");
  EXPECT_FALSE(ServiceManager().watchdog_interval());
}

TEST(ServiceManager, watchdog_is_fed_by_a_loop_that_turns_and_not_by_one_that_hangs) {
  FakeManager manager(path_of("watchdog"));
  const Variable socket("NOTIFY_SOCKET", path_of("watchdog"));
  const Variable interval("WATCHDOG_USEC", "4000");
  const Variable whose("WATCHDOG_PID", std::nullopt);
  Loop loop;
  const ServiceManager service;
  service.watch(loop);
  ASSERT_TRUE(loop.begin());
  for (int heard = 0; heard < 3;) {
    loop.step();
    if (const std::string told = manager.next(); !told.empty()) {
      EXPECT_EQ(told, "WATCHDOG=1");
      ++heard;
    }
  }
  // The loop does not turn: after four intervals no message has arrived.
  const TimePoint end = monotonic_now() + std::chrono::milliseconds(16);
  while (monotonic_now() < end) {
  }
  EXPECT_EQ(manager.next(), "");
  loop.step();
  EXPECT_EQ(manager.next(), "WATCHDOG=1");
  loop.end();
}

}  // namespace
}  // namespace peal
