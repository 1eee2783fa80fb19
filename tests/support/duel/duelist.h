// SPDX-License-Identifier: BSD-3-Clause
// Duelist: an echo server for tests of `peal load duel`, which compares servers with each other. The server uses as
// much CPU time as the test says. It runs in a process of its own, which starts in one of two ways:
// - The test forks a process. The child calls serve_as() with a listener of the test.
// - duelist() returns a command. The command starts the test's own program with a filter for one test case, and that
//   test case calls serve_if_told().
//
// The server uses blocking sockets and poll(2). Each client has one connection.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <load/process_files.h>
#include <peal/base/assert.h>
#include <peal/engine/listening_socket.h>

namespace peal::load {

// Where and when the server uses CPU time. DuelistManners::burn is the CPU time that one read costs. With kAlways, the
// thread that answers uses this time, and another thread uses CPU time without end.
enum class DuelistWork : uint8_t {
  kHere,    // in the thread that answers, before the answer
  kThread,  // in another thread, while the answer waits
  kChild,   // in a process for each connection
  kLater,   // in another thread, after 3 ms without input; at most kMostOwed at a time
  kAtLast,  // in another thread, after 300 ms without input; at most kMostOwedAtLast at a time
  kAlways,  // in another thread, all the time, with or without input
};

struct DuelistManners {
  Duration burn{};  // CPU time for each read
  DuelistWork work = DuelistWork::kHere;
  size_t dies_after = 0;    // the process dies at this read; 0 means never
  bool chatters = false;    // prints more than a pipe holds before it listens, and a line on each output at each read
  bool serves_one = false;  // accepts no further client while it has one
};

inline constexpr Duration kMostOwed = std::chrono::milliseconds(10);
// The most CPU time that a server with kAtLast puts off until it is idle. A duel looks for deferred work while the
// servers are idle. The duel measures the CPU time in 20 equal parts of this idle time (duel_bout.cc). The median of
// the 20 values counts as constant use, and only CPU time above the median counts as deferred work. The limit must be
// less than half of the idle time. Otherwise the median would contain deferred work.
inline constexpr Duration kMostOwedAtLast = std::chrono::milliseconds(200);

inline void burn_of_thread(Duration cpu) {
  const Duration end = *cpu_time(CLOCK_THREAD_CPUTIME_ID) + cpu;
  while (*cpu_time(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

// Returns a listener on 127.0.0.1. If `port` is 0, the kernel chooses a free port.
inline Fd duelist_listener(uint16_t port = 0) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const SocketAddress address = SocketAddress::parse("127.0.0.1:" + std::to_string(port)).value();
  const bool bound = ::bind(listener.get(), address.data(), address.size()) == 0;
  PEAL_ASSERT(bound && ::listen(listener.get(), 128) == 0, "cannot listen at port {}: errno {}", port, errno);
  return listener;
}

inline SocketAddress address_of(const Fd& listener) { return listening_address(listener.get()).value(); }

class Duelist {
 public:
  Duelist(const DuelistManners& manners, int listener) : manners_(manners), fds_{{listener, POLLIN, 0}} {}

  [[noreturn]] void serve() {
    if (manners_.work == DuelistWork::kAlways) {
      worker_ = std::jthread([] { burn_of_thread(Duration::max() / 2); });
    }
    while (true) {
      fds_[0].events = manners_.serves_one && fds_.size() > 1 ? 0 : POLLIN;
      const int patience_ms = manners_.work == DuelistWork::kAtLast ? 300 : 3;
      const int count = ::poll(fds_.data(), fds_.size(), owed_ > Duration::zero() ? patience_ms : -1);
      while (manners_.work == DuelistWork::kChild && ::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      if (count == 0) pay();
      for (size_t i = 1; i < fds_.size(); ++i) {
        if (fds_[i].revents != 0 && !answer(fds_[i].fd)) fds_[i].fd = -1;
      }
      if (fds_[0].revents != 0) take(::accept4(fds_[0].fd, nullptr, nullptr, SOCK_CLOEXEC));
      std::erase_if(fds_, [](const pollfd& each) { return each.fd < 0; });
    }
  }

 private:
  void take(int client) {
    if (client < 0) return;
    const int on = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (manners_.work == DuelistWork::kChild && ::fork() == 0) {
      while (answer(client)) {
      }
      ::_exit(0);
    }
    if (manners_.work != DuelistWork::kChild) return fds_.push_back({client, POLLIN, 0});
    ::close(client);
  }

  // Reads once from the client, uses the CPU time of the read and sends the same bytes back. If the client has ended
  // the connection, or a call has failed, closes the socket and returns false.
  bool answer(int client) {
    std::array<char, 65536> bytes;
    const ssize_t size = ::read(client, bytes.data(), bytes.size());
    if (size <= 0) {
      ::close(client);
      return false;
    }
    if (++reads_ == manners_.dies_after) {
      std::fputs("that was the last one\nand this is not said\n", stderr);
      ::_exit(7);
    }
    if (manners_.chatters) chatter(1);
    work();
    for (ssize_t sent = 0; sent < size;) {
      const ssize_t now = ::send(client, bytes.data() + sent, static_cast<size_t>(size - sent), MSG_NOSIGNAL);
      if (now <= 0) {
        ::close(client);
        return false;
      }
      sent += now;
    }
    return true;
  }

  void work() {
    if (manners_.work == DuelistWork::kAtLast) {
      owed_ = std::min(owed_ + manners_.burn, kMostOwedAtLast);
    } else if (manners_.work == DuelistWork::kLater) {
      owed_ = std::min(owed_ + manners_.burn, kMostOwed);
    } else if (manners_.work == DuelistWork::kThread) {
      std::jthread([this] { burn_of_thread(manners_.burn); }).join();
    } else if (manners_.burn > Duration::zero()) {
      burn_of_thread(manners_.burn);
    }
  }

  void pay() {
    const Duration owed = std::exchange(owed_, Duration::zero());
    worker_ = std::jthread([owed] { burn_of_thread(owed); });
  }

 public:
  static void chatter(size_t lines) {
    const std::string line(200, 'x');
    for (size_t i = 0; i < lines; ++i) {
      std::fprintf(stdout, "%s\n", line.c_str());
      std::fprintf(stderr, "%s\n", line.c_str());
    }
    std::fflush(stdout);
  }

 private:
  const DuelistManners manners_;
  std::vector<pollfd> fds_;
  size_t reads_ = 0;
  Duration owed_{};
  std::jthread worker_;
};

[[noreturn]] inline void serve_as(const DuelistManners& manners, const Fd& listener) {
  Duelist(manners, listener.get()).serve();
}

// Returns a command that starts a Duelist in a process of its own. The duel replaces the word "{port}" of the command
// by a port number.
inline std::vector<std::string> duelist(const DuelistManners& manners = {}) {
  return {"/usr/bin/env",
          "-u",
          "GTEST_TOTAL_SHARDS",
          "-u",
          "GTEST_SHARD_INDEX",
          "-u",
          "GTEST_FILTER",
          "-u",
          "GTEST_OUTPUT",
          std::filesystem::read_symlink("/proc/self/exe"),
          "--gtest_filter=Duelist.serves_if_told_where",
          "--duelist",
          "{port}",
          std::to_string(manners.burn.count()),
          std::to_string(static_cast<int>(manners.work)),
          std::to_string(manners.dies_after),
          manners.chatters ? "1" : "0",
          manners.serves_one ? "1" : "0"};
}

// If the command of duelist() has started this process, acts as the server and never returns. Otherwise does nothing.
inline void serve_if_told() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  const auto told = std::ranges::find(words, "--duelist");
  if (words.end() - told < 7) return;
  const DuelistManners manners{.burn = Duration(std::stoll(told[2])),
                               .work = static_cast<DuelistWork>(std::stoi(told[3])),
                               .dies_after = std::stoul(told[4]),
                               .chatters = told[5] == "1",
                               .serves_one = told[6] == "1"};
  if (manners.chatters) Duelist::chatter(1000);
  const Fd listener = duelist_listener(static_cast<uint16_t>(std::stoi(told[1])));
  std::printf("listening on %s\n", told[1].c_str());
  std::fflush(stdout);
  serve_as(manners, listener);
}

}  // namespace peal::load
