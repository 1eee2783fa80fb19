// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/server_process.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include <load/process_files.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

// Below the kernel's ephemeral range, so that no client in TIME_WAIT holds a server's port.
constexpr uint16_t kFirstPort = 20'000;
constexpr uint16_t kPorts = 12'000;
// One that accepts and has not said that it listens may have more threads to start.
constexpr Duration kPatience = std::chrono::milliseconds(50);
constexpr timeval kKnock{.tv_sec = 0, .tv_usec = 200'000};
constexpr size_t kKeptBytes = 4096;
constexpr std::string_view kListening = "listening on";
constexpr std::string_view kMark = "PEAL_DUEL_SERVER=";

SocketAddress loopback(uint16_t port) { return *SocketAddress::parse(fmt::format("127.0.0.1:{}", port)); }

// Nothing: all are taken.
std::optional<uint16_t> free_port() {
  static uint16_t next = static_cast<uint16_t>(::getpid() * 7 % kPorts);
  const int on = 1;
  for (uint16_t tries = 0; tries < kPorts; ++tries) {
    const auto port = static_cast<uint16_t>(kFirstPort + next);
    next = static_cast<uint16_t>((next + 1) % kPorts);
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return std::nullopt;
    static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    const SocketAddress address = loopback(port);
    if (::bind(socket.get(), address.data(), address.size()) == 0) return port;
  }
  return std::nullopt;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::vector<std::string> filled(const std::vector<std::string>& words, uint16_t port, size_t threads) {
  std::vector<std::string> ready = words;
  for (std::string& word : ready) {
    replace_all(word, "{listen}", fmt::format("127.0.0.1:{}", port));
    replace_all(word, "{host}", "127.0.0.1");
    replace_all(word, "{port}", std::to_string(port));
    replace_all(word, "{threads}", std::to_string(threads));
  }
  return ready;
}

// One for each server.
std::string next_mark() {
  static uint64_t last = 0;
  return fmt::format("{}{}.{}", kMark, ::getpid(), ++last);
}

struct ChildEnds {
  int output;
  int complaints;
  int failure;  // told errno, where the program cannot be run
};

// After fork() in a process that may have threads: nothing but system calls.
[[noreturn]] void become(char* const* words, char* const* environment, const ChildEnds& ends, const cpu_set_t* cpus,
                         int parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  if (cpus != nullptr) ::sched_setaffinity(0, sizeof *cpus, cpus);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(ends.output, STDOUT_FILENO);
  ::dup2(ends.complaints, STDERR_FILENO);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(words[0], words, environment);
  const int error = errno;
  static_cast<void>(::write(ends.failure, &error, sizeof error));
  ::_exit(127);
}

struct Pipe {
  Fd read;
  Fd write;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{.read = Fd(ends[0]), .write = Fd(ends[1])};
}

}  // namespace

std::string_view why_no_server(int pid) {
  constexpr int kKernelThreads = 2;  // their parent
  const Result<ProcessStat> stat = read_process_stat(pid);
  if (!stat) return {};
  if (!stat->alive) return "a zombie";
  if (pid == kKernelThreads || stat->parent == kKernelThreads) return "a kernel thread";
  // Its descendants count, and the generator is one of them.
  for (int ancestor = ::getpid(); ancestor > 0;) {
    if (ancestor == pid) return "what started this duel";
    const Result<ProcessStat> its = read_process_stat(ancestor);
    ancestor = its ? its->parent : 0;
  }
  return {};
}

bool tells_where(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.contains("{listen}") || word.contains("{port}")) return true;
  }
  return false;
}

KeptOutput::KeptOutput(Loop& loop, Fd pipe)
    : watch_(loop, std::move(pipe), {.readable = true}, [this](Readiness) { read(); }) {
  ::fcntl(watch_.fd(), F_SETFL, O_NONBLOCK);
}

const std::string& KeptOutput::text() {
  read();
  return text_;
}

void KeptOutput::read() {
  std::array<char, kKeptBytes> bytes{};
  const ssize_t size = ::read(watch_.fd(), bytes.data(), bytes.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return watch_.set_interest({});
  text_.append(bytes.data(), std::min(static_cast<size_t>(size), kKeptBytes - text_.size()));
}

std::expected<std::unique_ptr<ServerProcess>, std::string> ServerProcess::start(Loop& loop,
                                                                                const std::vector<std::string>& words,
                                                                                size_t threads,
                                                                                const std::vector<int>& cpus) {
  PEAL_ASSERT(!words.empty() && tells_where(words), "a command of {} words", words.size());
  const std::optional<uint16_t> port = free_port();
  if (!port) return std::unexpected(std::string("there is no free port from 20000 to 31999"));
  std::vector<std::string> ready = filled(words, *port, threads);
  std::vector<char*> pointers;
  pointers.reserve(ready.size() + 1);
  for (std::string& word : ready) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::string mark = next_mark();
  std::vector<char*> environment{mark.data()};
  for (char** word = environ; *word != nullptr; ++word) {
    if (!std::string_view(*word).starts_with(kMark)) environment.push_back(*word);
  }
  environment.push_back(nullptr);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);

  std::optional<Pipe> output = make_pipe();
  std::optional<Pipe> complaints = make_pipe();
  std::optional<Pipe> failure = make_pipe();
  if (!output || !failure || !complaints) {
    return std::unexpected(fmt::format("{} cannot be started: {}", ready[0], std::strerror(errno)));
  }
  const int parent = ::getpid();
  const int pid = ::fork();
  if (pid < 0) return std::unexpected(fmt::format("{} cannot be started: {}", ready[0], std::strerror(errno)));
  if (pid == 0) {
    become(pointers.data(), environment.data(), {output->write.get(), complaints->write.get(), failure->write.get()},
           cpus.empty() ? nullptr : &set, parent);
  }
  ::setpgid(pid, pid);  // whoever of the two comes first
  failure->write = Fd();
  output->write = Fd();
  complaints->write = Fd();
  int error = 0;
  if (::read(failure->read.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(pid, nullptr, 0);
    return std::unexpected(fmt::format("{} cannot be run: {}", ready[0], std::strerror(error)));
  }
  return std::unique_ptr<ServerProcess>(new ServerProcess(loop, pid, std::move(mark), loopback(*port),
                                                          std::move(output->read), std::move(complaints->read)));
}

ServerProcess::ServerProcess(Loop& loop, int pid, std::string mark, SocketAddress address, Fd output, Fd complaints)
    : pid_(pid),
      mark_(std::move(mark)),
      guard_(pid),
      address_(address),
      output_(loop, std::move(output)),
      complaints_(loop, std::move(complaints)) {}

OrphansHere::OrphansHere() {
  ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

OrphansHere::~OrphansHere() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }

ServerProcess::~ServerProcess() {
  if (is_gone()) return;
  // A group may outlive its first process, which may have left it.
  ::kill(-pid_, SIGKILL);
  if (!status_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  while (::waitpid(-pid_, nullptr, 0) > 0) {
  }
}

bool ServerProcess::listens(TimePoint now) {
  if (!accepted_at_) {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // On Linux this bounds connect() too (socket(7)).
    if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kKnock, sizeof kKnock) != 0) return false;
    if (::connect(socket.get(), address_.data(), address_.size()) != 0) return false;
    accepted_at_ = now;
  }
  return output_.text().contains(kListening) || now - *accepted_at_ >= kPatience;
}

std::optional<std::string> ServerProcess::ended() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  if (!status_) return std::nullopt;
  std::string how = WIFSIGNALED(*status_) ? fmt::format("signal {}", WTERMSIG(*status_))
                                          : fmt::format("exit code {}", WEXITSTATUS(*status_));
  const std::string_view said = complaints_.text();
  return said.empty() ? how : fmt::format("{} ({})", how, said.substr(0, said.find('\n')));
}

bool ServerProcess::is_gone() {
  if (!ended()) return false;
  while (::waitpid(-pid_, nullptr, WNOHANG) > 0) {
  }
  return ::kill(-pid_, 0) != 0;
}

bool ServerProcess::has_started(int process) const {
  return ::getpgid(process) == pid_ || has_in_environment(process, mark_);
}

void ServerProcess::ask_to_end() { ::kill(-pid_, SIGTERM); }

}  // namespace peal::load
