// SPDX-License-Identifier: BSD-3-Clause
// MasterProcess and WorkerClient: a Master with real workers, for tests. The test forks the master, the master forks
// its workers, and clients find out which worker serves them. Everything here is used on one thread.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <deque>
#include <fstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/process/master.h>
#include <tests/support/program.h>
#include <tests/support/raw_peer.h>

namespace peal::test {

// The function that each worker process runs. It sends each client one line, then echoes. The line has these numbers:
// - the worker's place among the workers,
// - the count of workers,
// - the generation of the workers,
// - the worker's pid,
// - the number of CPUs that the worker may use.
inline int greet_and_echo(Worker& worker) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  const std::string greeting = fmt::format("{} {} {} {} {}\n", worker.place(), worker.count(), worker.generation(),
                                           ::getpid(), CPU_COUNT(&allowed));
  Loop loop;
  Server server(loop, {.on_open = [&greeting](Connection& connection) { connection.send(greeting); },
                       .on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }});
  return worker.serve(loop, server);
}

inline MasterOptions with_workers(size_t count) {
  MasterOptions options;
  options.workers = count;
  options.respawn.first_pause = std::chrono::milliseconds(1);
  options.grace = std::chrono::milliseconds(100);
  return options;
}

// A child process of the test that runs a master. The master's log lines are dropped.
class MasterProcess {
 public:
  explicit MasterProcess(MasterOptions options, const Master::Work& work = greet_and_echo,
                         const std::string& address = "127.0.0.1:0") {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    said_ = Fd(ends[0]);
    Fd say(ends[1]);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_log_level(LogLevel::kOff);
    Result<SocketAddress> bound;
    options.on_serving = [&] {
      const std::string line = bound->to_string() + "\n";
      return ::write(say.get(), line.data(), line.size()) > 0;
    };
    Master master(std::move(options));
    bound = master.listen(address);
    ::_exit(bound ? master.run(work) : 2);
  }
  ~MasterProcess() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    exit_code();
  }
  MasterProcess(const MasterProcess&) = delete;
  MasterProcess& operator=(const MasterProcess&) = delete;

  // Waits until the master serves, and returns its address. Returns an empty address if the master ends before that, or
  // does not serve within 30 s.
  SocketAddress serving() {
    std::string line;
    for (char c = 0; readable(said_.get()) && ::read(said_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return SocketAddress::parse(line).value_or(SocketAddress{});
  }
  void signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }
  // Waits until the master has read the signal `number`. A signal stays pending until the master reads it, because the
  // master blocks its signals and reads them from a signalfd(2).
  void has_heard(int number) const {
    const uint64_t bit = uint64_t{1} << (number - 1);
    for (uint64_t waiting = bit; (waiting & bit) != 0; ::sched_yield()) {
      std::ifstream status(fmt::format("/proc/{}/status", pid_));
      std::string line;
      while (std::getline(status, line) && !line.starts_with("ShdPnd:")) {
      }
      ASSERT_TRUE(status);
      waiting = std::stoull(line.substr(7), nullptr, 16);
    }
  }
  // Stops the master with SIGSTOP and waits until it has stopped. SIGCONT makes the master continue.
  void stop() const {
    signal(SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  pid_t pid() const { return pid_; }
  int exit_code() {
    int status = 0;
    EXPECT_EQ(::waitpid(std::exchange(pid_, 0), &status, 0) > 0, true);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
  Fd said_;
};

// A client that is connected to a worker. It stores the numbers that the worker has sent as a greeting
// (greet_and_echo()).
struct WorkerClient {
  explicit WorkerClient(const SocketAddress& address) : peer(address.family()) {
    peer.connect(address);
    while (!peer.received().contains('\n') && readable(peer.fd()) && peer.pump()) {
    }
    EXPECT_EQ(std::sscanf(peer.received().c_str(), "%zu %zu %d %d %d", &place, &count, &generation, &pid, &processors),
              5)
        << "'" << peer.received() << "'";
  }
  // Sends a message. Returns true if the worker sends it back.
  bool served() {
    const size_t before = peer.received().size();
    peer.send("hello");
    while (peer.received().size() < before + 5 && readable(peer.fd()) && peer.pump()) {
    }
    return peer.received().size() == before + 5;
  }
  bool cut_off() {
    while (readable(peer.fd()) && peer.pump()) {
    }
    return peer.ended() || peer.error() != 0;
  }

  RawPeer peer;
  size_t place = 0;
  size_t count = 0;
  int generation = 0;
  int pid = 0;
  int processors = 0;
};

// Connects new clients, one after the other, until `wanted` returns true for one of them. Returns this client. Fails
// after 30 s.
template <class Wanted>
WorkerClient& find_client(std::deque<WorkerClient>& clients, const SocketAddress& address, Wanted wanted) {
  const TimePoint give_up = monotonic_now() + kProgramPatience;
  while (!wanted(clients.emplace_back(address)) && monotonic_now() < give_up) {
  }
  EXPECT_TRUE(wanted(clients.back()));
  return clients.back();
}

// Waits for the end of a process that is not a child of the test. wait(2) cannot do this, because it works only for
// children.
class UnrelatedProcess {
 public:
  explicit UnrelatedProcess(pid_t pid) : end_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
    EXPECT_TRUE(bool(end_));
  }
  bool ends() const { return readable(end_.get()); }

 private:
  Fd end_;
};

// A number in shared memory. The test and all processes that it forks after making this object use the same number.
class SharedCount {
 public:
  SharedCount()
      : count_(new(::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   std::atomic<int>(0)) {}
  ~SharedCount() { ::munmap(count_, sizeof *count_); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;

  std::atomic<int>& operator*() const { return *count_; }

 private:
  std::atomic<int>* count_;
};

}  // namespace peal::test
