// SPDX-License-Identifier: BSD-3-Clause
// io_signal_driven: signal-driven input and output, the fourth of the five classic I/O models: the kernel sends a
// signal when something happens at a socket (O_ASYNC, fcntl(2)).
//
//   socket 5: bytes came ──> queue of real-time signals: [5][9][5][listener] ──> sigtimedwait: "fd 5" ─> read until
//   socket 9: has room   ──>  (F_SETSIG, to this thread: F_SETOWN_EX)                empty ─> frames ─> work ─> write
//                             full: plain SIGIO instead, which names nobody ──> every socket is asked
//
// Who accepts, reads, computes and writes: the one thread; the signals are blocked and taken from the queue one by one,
// so no handler ever runs. Work never changes hands. Like epoll it tells who is ready at a cost that does not grow with
// the idle, but an event is told once (an edge: read until nothing is left), each takes a place in a queue that the
// user has once for all processes (RLIMIT_SIGPENDING), and each is fetched by a system call of its own.
//
// A signal says what happened to an fd's number when it was sent. By the time it is taken that socket may be closed and
// the number somebody else's, so the number is only a hint whom to ask: who is asked for nothing says EAGAIN.
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

// Who always has more to read is asked so often, then it is the others' turn.
constexpr int kStepsAtOnce = 8;

int ready_signal() { return SIGRTMIN; }

// What this model waits for, blocked for as long as this lives; then what is pending of it is gone.
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

  // Has the signal sent to this thread, from now on, whenever something happens at the socket.
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
  // With those that end the model.
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
    bool unfinished = false;  // listed among those
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
  std::vector<std::unique_ptr<Client>> clients_;  // by fd
  std::vector<int> unfinished_;                   // had more to read than was their turn; perhaps closed since
};

Result<void> SignalServer::serve() {
  if (Result<void> done = ReadySignals::announce(run_.listener.get()); !done) return done;
  accept_all();  // who came before the first signal
  const sigset_t set = signals_.with_stop();
  for (;;) {
    siginfo_t info{};
    const int signal = wait(set, info);
    if (signal == SIGTERM || signal == SIGINT) {
      ::kill(::getpid(), signal);  // pending again, for whoever else wants to see it
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

// The next signal; 0 at the next deadline, or at once when there is something to do.
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

// Goes on by one read or write; whether there is more to do before the next signal can come.
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

// Nobody knows any more who was named. What is still queued would ask again for nothing.
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
    ask(fd);  // what came before it was announced
  }
  // No signal comes for who waits already.
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
