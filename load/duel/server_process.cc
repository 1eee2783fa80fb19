// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/server_process.h>

#include <fcntl.h>
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

#include <load/duel/spawned_child.h>
#include <load/process_files.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

// Servers get ports from 20000 to 31999. For outgoing connections, the kernel by default uses ports from 32768. So no
// outgoing connection, not even one in TIME_WAIT, occupies the port of a server.
constexpr uint16_t kFirstPort = 20'000;
constexpr uint16_t kPorts = 12'000;
// After a server has accepted its first connection, the duel waits until the server prints "listening on", but at most
// for this time. The duel waits because a server may accept connections while it still starts threads. When the time
// has passed, the server counts as ready, because a server need not print "listening on".
constexpr Duration kPatience = std::chrono::milliseconds(50);
constexpr timeval kKnock{.tv_sec = 0, .tv_usec = 200'000};
constexpr size_t kKeptBytes = 4096;
constexpr std::string_view kListening = "listening on";
constexpr std::string_view kMark = "PEAL_DUEL_SERVER=";

// Finds a free port and sets it in `address`. Also reserves the port, so that other test harnesses on this machine do
// not use the port. The reservation is a name that contains the port number. The function binds the unix socket `claim`
// to this name. Each other test harness tries to bind a socket to the same name before it uses the port (own_port() in
// versus/run/process.py). While `claim` is open, that bind(2) fails, and the harness tries another port. Returns 0 or
// an errno. EADDRINUSE means that no port is free.
int take_free_port(SocketAddress& address, Fd& claim) {
  static uint16_t next = static_cast<uint16_t>(::getpid() * 7 % kPorts);
  const int on = 1;
  for (uint16_t tries = 0; tries < kPorts; ++tries) {
    address.set_port(static_cast<uint16_t>(kFirstPort + next));
    next = static_cast<uint16_t>((next + 1) % kPorts);
    const auto name = SocketAddress::parse(fmt::format("unix:@peal-versus-port-{}", address.port())).value();
    claim = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!claim || !socket) return errno;
    static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    if (::bind(claim.get(), name.data(), name.size()) == 0 &&
        ::bind(socket.get(), address.data(), address.size()) == 0) {
      return 0;
    }
    if (errno != EADDRINUSE) return errno;
  }
  return EADDRINUSE;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::vector<std::string> filled(const std::vector<std::string>& words, const SocketAddress& where, size_t threads) {
  std::vector<std::string> ready = words;
  for (std::string& word : ready) {
    replace_all(word, "{listen}", where.to_string());
    replace_all(word, "{host}", host_of(where));
    replace_all(word, "{port}", std::to_string(where.port()));
    replace_all(word, "{threads}", std::to_string(threads));
  }
  return ready;
}

// Returns a unique environment variable for a server, as NAME=VALUE. All processes that the server starts inherit this
// variable. The duel recognizes these processes by the variable.
std::string next_mark() {
  static uint64_t last = 0;
  return fmt::format("{}{}.{}", kMark, ::getpid(), ++last);
}

}  // namespace

std::string_view why_no_server(int pid) {
  constexpr int kKernelThreads = 2;  // the parent of all kernel threads
  const Result<ProcessStat> stat = read_process_stat(pid);
  if (!stat) return {};
  if (!stat->alive) return "a zombie";
  if (pid == kKernelThreads || stat->parent == kKernelThreads) return "a kernel thread";
  // Neither this process nor one of its ancestors can be the server. The measured CPU time of a server includes the CPU
  // time of its descendants. So the CPU time of this process, which is the load generator, would count as CPU time of
  // the server.
  for (int ancestor = ::getpid(); ancestor > 0;) {
    if (ancestor == pid) return "an ancestor of this duel";
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

std::string host_of(const SocketAddress& address) {
  const std::string text = address.to_string();
  const std::string host = text.substr(0, text.rfind(':'));
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

SocketAddress loopback_host() { return *SocketAddress::parse("127.0.0.1:0"); }

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
                                                                                const std::vector<int>& cpus,
                                                                                const SocketAddress& host) {
  PEAL_ASSERT(!words.empty() && tells_where(words), "a command of {} words does not say where to listen", words.size());
  PEAL_ASSERT(host.is_ip(), "servers listen at an IP address, not at '{}'", host.to_string());
  SocketAddress address = host;
  Fd port_claim;
  if (const int error = take_free_port(address, port_claim); error != 0) {
    return std::unexpected(error == EADDRINUSE ? std::string("there is no free port from 20000 to 31999")
                                               : fmt::format("a server cannot listen at {} on this machine: {}",
                                                             host_of(host), std::strerror(error)));
  }
  std::string mark = next_mark();
  std::expected<SpawnedChild, std::string> child =
      spawn({.words = filled(words, address, threads), .mark = mark, .cpus = cpus});
  if (!child) return std::unexpected(child.error());
  return std::unique_ptr<ServerProcess>(new ServerProcess(loop, child->pid, std::move(mark), address,
                                                          std::move(port_claim), std::move(child->output),
                                                          std::move(child->complaints)));
}

ServerProcess::ServerProcess(Loop& loop, int pid, std::string mark, SocketAddress address, Fd port_claim, Fd output,
                             Fd complaints)
    : pid_(pid),
      mark_(std::move(mark)),
      guard_(pid),
      address_(address),
      port_claim_(std::move(port_claim)),
      output_(loop, std::move(output)),
      complaints_(loop, std::move(complaints)) {}

OrphansHere::OrphansHere() {
  ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

OrphansHere::~OrphansHere() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }

ServerProcess::~ServerProcess() {
  if (is_gone()) return;
  // Kills both the process group and the server's first process. The group may outlive the first process, and the first
  // process may have left the group. If `status_` is set, the first process has ended, and waitpid(2) was called for
  // it.
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
    const Fd socket(::socket(address_.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    // Limits the time of connect(2) to kKnock (200 ms). Without a limit, connect(2) could block this thread for
    // minutes, for example if the server's listen queue is full. On Linux, SO_SNDTIMEO is also the timeout of
    // connect(2); see socket(7).
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
