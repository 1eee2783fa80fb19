// SPDX-License-Identifier: BSD-3-Clause
// io_signal_driven: signal-driven input and output, the fourth of the five classic I/O models. The kernel sends a
// signal when something happens at a socket (O_ASYNC, fcntl(2)).
//
//   socket 5: bytes came ──> queue of real-time signals: [5][9][5][listener] ──> sigtimedwait: "fd 5" ─> read until
//   socket 9: has room   ──>  (F_SETSIG, to this thread: F_SETOWN_EX)                empty ─> frames ─> work ─> write
//                             full: plain SIGIO instead, which names nobody ──> every socket is asked
//
// One thread accepts, reads, computes and writes. The signals are blocked, and the thread takes them from the queue one
// by one, so no signal handler ever runs. As with epoll, idle connections cost nothing. There are three differences:
// - An event is reported only once (edge-triggered), so the thread has to read until nothing is left.
// - Each event occupies an entry of a queue that all processes of the user share (RLIMIT_SIGPENDING).
// - Each event is fetched by a system call of its own.
//
// A signal contains the fd number of its socket. Before the signal is taken, that socket may be closed, and a new
// socket may get its number. So the number is only a hint which socket to try. If that socket has nothing to read, the
// attempt fails with EAGAIN and does no harm.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include <models/common/coroutine/slow_list.h>
#include <models/common/echo/echo_connection.h>
#include <models/common/plain_sockets.h>
#include <models/common/reactor/by_fd.h>
#include <models/models.h>
#include <peal/base/thread/thread.h>

namespace peal::models {
namespace {

// Limits how long the server serves one client at a time. ask() calls step() at most kStepsAtOnce + 1 times, and each
// of these calls reads or writes. The limit is one call higher than kStepsAtOnce, because ask() compares only the
// number of earlier calls with kStepsAtOnce. If the client may have more to read or write after these calls, ask() adds
// the client to `unfinished_`. between_signals() then calls ask() again for each client in `unfinished_`, once after
// each wait for a signal. Without the limit, a client that sends without a pause would keep all other clients waiting.
constexpr int kStepsAtOnce = 8;

int ready_signal() { return SIGRTMIN; }

// The signals that report ready sockets: a real-time signal, and SIGIO after an overflow of the signal queue. The
// constructor blocks these signals in the calling thread, so they stay in the queue until sigtimedwait(2) takes them.
// The destructor discards the signals that are still in the queue, and restores the signal mask of the thread.
class ReadySignals {
 public:
  ReadySignals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, ready_signal());
    ::sigaddset(&set_, SIGIO);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~ReadySignals() {
    discard();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  ReadySignals(const ReadySignals&) = delete;
  ReadySignals& operator=(const ReadySignals&) = delete;

  // Makes the kernel send a signal to the calling thread whenever the socket becomes readable or writable. Also makes
  // the socket non-blocking.
  static Result<void> announce(int fd) {
    const f_owner_ex owner{.type = F_OWNER_TID, .pid = current_thread_id()};
    if (::fcntl(fd, F_SETOWN_EX, &owner) != 0) return fail(errno);
    if (::fcntl(fd, F_SETSIG, ready_signal()) != 0) return fail(errno);
    if (::fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0) return fail(errno);
    return {};
  }
  void discard() const {
    const timespec at_once{};
    while (::sigtimedwait(&set_, nullptr, &at_once) > 0) {
    }
  }
  // Returns the set of all signals for which the server waits: the signals that report ready sockets, SIGTERM and
  // SIGINT.
  sigset_t with_stop() const {
    sigset_t all = Stop::signals();
    ::sigorset(&all, &all, &set_);
    return all;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

class SignalServer {
 public:
  explicit SignalServer(ModelRun& run) : run_(run), options_(run.options), slow_(run.options.slow_timeout) {
    options_.read_until_empty = true;
  }
  ~SignalServer() {
    for (auto& client : clients_) {
      if (client) ++tally_.ended;
    }
    clients_.clear();
    run_.statistics.add(tally_);
  }
  SignalServer(const SignalServer&) = delete;
  SignalServer& operator=(const SignalServer&) = delete;

  Result<void> serve();

 private:
  struct Client : SlowNode {
    Client(SignalServer& server, Fd socket) : echo(std::move(socket), server.options_, server.tally_) {}

    EchoConnection echo;
    Wants wants = Wants::kRead;
    bool unfinished = false;  // true if `unfinished_` contains this client's fd
  };

  int wait(const sigset_t& set, siginfo_t& info);
  void ask(int fd);
  void ask_all();
  void accept_all();
  bool step(Client& client);
  void close(Client& client);
  void between_signals();

  ModelRun& run_;
  ModelOptions options_;
  const ReadySignals signals_;
  Tally tally_;
  SlowList slow_;
  TimePoint accept_again_ = kNever;
  std::vector<std::unique_ptr<Client>> clients_;  // indexed by fd
  std::vector<int> unfinished_;  // fds of clients that may have more to read or write; some may be closed
};

Result<void> SignalServer::serve() {
  if (Result<void> done = ReadySignals::announce(run_.listener.get()); !done) return done;
  accept_all();  // accepts connections that arrived before signals were enabled
  const sigset_t set = signals_.with_stop();
  for (;;) {
    siginfo_t info{};
    const int signal = wait(set, info);
    if (signal == SIGTERM || signal == SIGINT) {
      ::kill(::getpid(), signal);  // makes the signal pending again, for other code that waits for it
      return {};
    }
    if (signal == SIGIO) {
      ++tally_.overflows;
      ask_all();
    } else if (signal == ready_signal()) {
      ask(info.si_fd);
    }
    between_signals();
  }
}

// Waits for the next signal of `set`, stores its details in `info`, and returns its number. Returns 0 if no signal was
// taken, in one of these cases:
// - The time has come to close a slow client (`slow_`), or to accept connections again (`accept_again_`).
// - Some client may have more to read or write (`unfinished_`), and no signal has arrived yet. In this case, the
//   function does not wait, so that the server can continue with this client.
// - sigtimedwait(2) was interrupted (EINTR).
int SignalServer::wait(const sigset_t& set, siginfo_t& info) {
  const TimePoint next = unfinished_.empty() ? std::min(slow_.next(), accept_again_) : TimePoint::min();
  timespec left{};
  if (next != TimePoint::min() && next != kNever) {
    const Duration time = std::max(next - monotonic_now(), Duration::zero());
    left = {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
  }
  const int signal = ::sigtimedwait(&set, &info, next == kNever ? nullptr : &left);
  return std::max(signal, 0);
}

void SignalServer::ask(int fd) {
  if (fd == run_.listener.get()) return accept_all();
  if (fd < 0 || static_cast<size_t>(fd) >= clients_.size() || !clients_[static_cast<size_t>(fd)]) return;
  Client& client = *clients_[static_cast<size_t>(fd)];
  for (int steps = 0; step(client); ++steps) {
    if (client.wants == Wants::kClose) return close(client);
    if (steps < kStepsAtOnce) continue;
    if (!std::exchange(client.unfinished, true)) unfinished_.push_back(fd);
    break;
  }
  slow_.follow(client, client.echo.in_the_middle());
}

// If a part of the client's answer is unsent, sends more of the answer. Otherwise reads and answers the complete
// frames. Returns false if the socket has reported EAGAIN. In that case, the kernel will send a signal when the socket
// is ready again. Returns true if the caller has to call step() again, or has to close the client because client.wants
// is kClose.
bool SignalServer::step(Client& client) {
  const size_t unsent = client.echo.unsent_bytes();
  const bool wrote = client.wants == Wants::kWrite;
  client.wants = wrote ? client.echo.on_writable() : client.echo.on_readable();
  switch (client.wants) {
    case Wants::kRead: return wrote || client.echo.unread();
    case Wants::kWrite: return !wrote || client.echo.unsent_bytes() < unsent;
    case Wants::kClose: break;
  }
  return true;
}

// Called after an overflow of the signal queue. The signals of some sockets are then lost, and nobody knows of which.
// So ask_all() accepts connections, and tries to read from or write to every client. It discards the signals that are
// still in the queue, because their sockets are tried anyway.
void SignalServer::ask_all() {
  signals_.discard();
  accept_all();
  for (size_t fd = 0; fd < clients_.size(); ++fd) ask(static_cast<int>(fd));
}

void SignalServer::accept_all() {
  Accepted next = accept_one(run_.listener.get(), Blocking::kNo);
  for (; next.did == CallOutcome::kDone; next = accept_one(run_.listener.get(), Blocking::kNo)) {
    ++tally_.accepted;
    const int fd = next.socket.get();
    if (!ReadySignals::announce(fd)) {
      ++tally_.refused;
      continue;
    }
    entry_of(clients_, fd) = std::make_unique<Client>(*this, std::move(next.socket));
    ask(fd);  // reads bytes that arrived before signals were enabled
  }
  // If no fd or memory is free for a connection (kNoRoom), connections stay in the backlog. The kernel sends no further
  // signal for them. So the server calls accept_all() again after kRoomPause.
  accept_again_ = next.did == CallOutcome::kNoRoom ? monotonic_now() + kRoomPause : kNever;
}

void SignalServer::close(Client& client) {
  ++tally_.ended;
  clients_[static_cast<size_t>(client.echo.fd())].reset();
}

void SignalServer::between_signals() {
  for (const int fd : std::exchange(unfinished_, {})) {
    Client* client = clients_[static_cast<size_t>(fd)].get();
    if (client == nullptr || !client->unfinished) continue;
    client->unfinished = false;
    ask(fd);
  }
  if (slow_.next() != kNever || accept_again_ != kNever) {
    const TimePoint now = monotonic_now();
    while (SlowNode* late = slow_.take_late(now)) {
      ++tally_.timed_out;
      close(static_cast<Client&>(*late));
    }
    if (accept_again_ <= now) accept_all();
  }
  if (tally_.accepted + tally_.ended > 0) run_.statistics.add(tally_);
}

}  // namespace

Result<void> io_signal_driven(ModelRun& run) { return SignalServer(run).serve(); }

}  // namespace peal::models
