// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/epoll_reactor.h>

#include <algorithm>
#include <utility>

#include <models/common/reactor/epoll_listener.h>
#include <models/common/reactor/socket_channel.h>
#include <models/common/reactor/wait_time.h>
#include <peal/base/assert.h>

namespace peal::models {
// The base class of the objects to which epoll events point: listeners and clients. The event that reports SIGTERM or
// SIGINT has a null pointer.
struct EpollReactor::Watched {
  enum class Kind : uint8_t { kListener, kServed, kToHandOver };
  const Kind kind;
};

struct EpollReactor::Listener : Watched {
  Listener(int fd, const Fd& epoll, EpollListener::Source source)
      : Watched(Kind::kListener), sockets(fd, epoll.get(), source) {}

  EpollListener sockets;
  bool is_channel = false;
  HandOver hand_over;
  HandOverWhen when = HandOverWhen::kAccepted;
};

struct EpollReactor::Client : Watched, SlowNode {
  Client(EpollReactor& reactor, Fd socket, const Listener* listener)
      : Watched(listener != nullptr && listener->hand_over ? Kind::kToHandOver : Kind::kServed),
        echo(std::move(socket), reactor.options_, reactor.tally_),
        from(listener) {}

  Wants wants = Wants::kRead;
  EchoConnection echo;
  const Listener* const from;  // null if the client was added by add()
  std::list<Client>::iterator self;
};

EpollReactor::EpollReactor(const ModelOptions& options, Statistics& statistics, Edge edge, Fd epoll)
    : options_(options),
      statistics_(statistics),
      edge_(edge == Edge::kTriggered),
      registered_once_(edge_ && options.write_order == WriteOrder::kFirst),
      epoll_(std::move(epoll)),
      events_(options.events_per_wait),
      slow_(options.slow_timeout) {
  PEAL_ASSERT(!edge_ || options.read_until_empty,
              "an edge-triggered reactor needs read_until_empty, because an edge is reported only once");
}

EpollReactor::~EpollReactor() { close_all(); }

Result<std::unique_ptr<EpollReactor>> EpollReactor::make(const ModelOptions& options, const Stop& stop,
                                                         Statistics& statistics, Edge edge) {
  Result<Fd> epoll = stop.make_epoll();
  if (!epoll) return std::unexpected(epoll.error());
  return std::unique_ptr<EpollReactor>(new EpollReactor(options, statistics, edge, std::move(*epoll)));
}

Result<void> EpollReactor::watch(int operation, int fd, uint32_t events, Watched* watched) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = watched;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0) return fail(errno);
  return {};
}

Result<void> EpollReactor::listen(int listener, HandOver hand_over, HandOverWhen when) {
  Listener& added = listeners_.emplace_back(listener, epoll_, &accept_without_blocking);
  added.hand_over = std::move(hand_over);
  added.when = when;
  return added.sockets.watch(&added);
}

Result<void> EpollReactor::receive(int channel) {
  Listener& added = listeners_.emplace_back(channel, epoll_, &receive_socket);
  added.is_channel = true;
  return added.sockets.watch(&added);
}

Result<void> EpollReactor::add(Fd socket) { return add_client(std::move(socket), nullptr); }

// Adds the client to the list clients_ first, and then its socket to the epoll. The order matters: as soon as the
// socket is in the epoll, the reactor's thread may serve the client and destroy it.
Result<void> EpollReactor::add_client(Fd socket, const Listener* from) {
  const int fd = socket.get();
  Client* client = nullptr;
  {
    MutexLock lock(mutex_);
    client = &clients_.emplace_front(*this, std::move(socket), from);
    client->self = clients_.begin();
  }
  Result<void> added = watch(EPOLL_CTL_ADD, fd, asked_for(Wants::kRead), client);
  if (!added) forget(*client);
  return added;
}

uint32_t EpollReactor::asked_for(Wants wants) const {
  if (registered_once_) return EPOLLIN | EPOLLOUT | EPOLLET;
  return (wants == Wants::kRead ? EPOLLIN : EPOLLOUT) | (edge_ ? EPOLLET : 0U);
}

Result<void> EpollReactor::run() {
  while (!stopping_) {
    const int count =
        ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), wait_ms(next_deadline()));
    if (count < 0 && errno != EINTR) return fail(errno);
    now_.reset();
    for (int i = 0; i < count; ++i) dispatch(events_[static_cast<size_t>(i)]);
    between_batches();
  }
  close_all();
  return {};
}

void EpollReactor::dispatch(const epoll_event& event) {
  auto* const watched = static_cast<Watched*>(event.data.ptr);
  if (watched == nullptr) {
    stopping_ = true;
    return;
  }
  switch (watched->kind) {
    case Watched::Kind::kServed: return serve(static_cast<Client&>(*watched), event.events);
    case Watched::Kind::kListener: return accept(static_cast<Listener&>(*watched));
    case Watched::Kind::kToHandOver: return hand_over(static_cast<Client&>(*watched));
  }
}

void EpollReactor::accept(Listener& listener) {
  while (accept_next(listener) && options_.loop_accept) {
  }
}

// Tries to accept one connection. Returns true if a connection was accepted. In this case, further connections may be
// waiting.
bool EpollReactor::accept_next(Listener& listener) {
  Accepted next = listener.sockets.next();
  // A listener is either a listening socket, or a channel through which another process sends accepted sockets. If the
  // listener is a channel, kNoRoom means that this process had no free fd for the sent socket. The kernel has closed
  // that socket, so the connection counts as refused. If the listener is a listening socket, kNoRoom leaves the
  // connection in the backlog. The connection can still be accepted, so it does not count as refused.
  if (next.did == CallOutcome::kNoRoom && listener.is_channel) ++tally_.refused;
  if (next.did != CallOutcome::kDone) return false;
  if (!listener.is_channel) ++tally_.accepted;
  if (!settle(std::move(next.socket), listener)) ++tally_.refused;
  return true;
}

Result<void> EpollReactor::settle(Fd socket, const Listener& listener) {
  const bool at_once = listener.hand_over && listener.when == HandOverWhen::kAccepted;
  return at_once ? listener.hand_over(std::move(socket)) : add_client(std::move(socket), &listener);
}

// Passes the client's socket to the HandOver function. First removes the socket from the epoll, because this reactor
// must get no further events of the socket. The kernel itself removes a socket from an epoll only when all fds of the
// socket are closed. The new owner, another thread or another process, keeps the socket open.
void EpollReactor::hand_over(Client& client) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client.echo.fd(), nullptr);
  const Listener& listener = *client.from;
  Fd socket = client.echo.release();
  forget(client);
  if (!listener.hand_over(std::move(socket))) ++tally_.refused;
}

void EpollReactor::serve(Client& client, uint32_t events) {
  if (edge_) {
    // Ignores the event if it reports only the state that the client does not wait for: writable instead of readable,
    // or the reverse. For example, a new socket is reported as writable, but the client waits until it is readable.
    const uint32_t others = client.wants == Wants::kWrite ? EPOLLIN : EPOLLOUT;
    if ((events & ~others) == 0) return;
  }
  const bool wrote = client.wants == Wants::kWrite;
  Wants next = wrote ? client.echo.on_writable() : client.echo.on_readable();
  // If the socket is registered only once, reads as soon as the whole answer is sent. Reason: new bytes may have
  // arrived while a part of the answer was unsent. The reactor has ignored their event, because the client waited until
  // the socket was writable. An edge-triggered epoll does not report that event again. If the socket is registered for
  // one event at a time, this read is not necessary. await() then registers the socket for reading, and the epoll
  // reports the bytes.
  if (registered_once_ && wrote && next == Wants::kRead) next = client.echo.on_readable();
  if (next == Wants::kClose) return close(client);
  await(client, next);
  slow_.follow(client, client.echo.in_the_middle(), [this] { return now(); });
}

void EpollReactor::await(Client& client, Wants next) {
  // Here, client.echo.unread() is true if on_readable() has stopped reading before EAGAIN, because the answer had
  // reached a size limit. The socket may therefore have unread bytes, which an edge-triggered epoll does not report
  // again. So await() registers the socket again (EPOLL_CTL_MOD). The epoll then checks the socket, and reports a new
  // event if the socket has bytes.
  const bool look_again = edge_ && next == Wants::kRead && client.echo.unread();
  const bool changed = std::exchange(client.wants, next) != next;
  if ((changed && !registered_once_) || look_again) {
    const Result<void> done = watch(EPOLL_CTL_MOD, client.echo.fd(), asked_for(next), &client);
    PEAL_ASSERT(done.has_value(), "epoll_ctl(MOD): {}", done.error().message());
  }
}

TimePoint EpollReactor::now() {
  if (!now_) now_ = monotonic_now();
  return *now_;
}

TimePoint EpollReactor::next_deadline() const {
  TimePoint next = slow_.next();
  for (const Listener& listener : listeners_) next = std::min(next, listener.sockets.resume_at());
  return next;
}

void EpollReactor::between_batches() {
  if (slow_.next() != kNever) {
    while (SlowNode* late = slow_.take_late(now())) {
      ++tally_.timed_out;
      close(static_cast<Client&>(*late));
    }
  }
  for (Listener& listener : listeners_) {
    if (listener.sockets.resume_at() != kNever && listener.sockets.resume_at() <= now()) listener.sockets.resume();
  }
  if (tally_.ended + tally_.accepted + tally_.refused > 0) statistics_.add(tally_);
}

// Removes the client from the list clients_ and destroys it. The destructor closes the socket, which takes time.
// Therefore the client is destroyed only after the mutex is unlocked.
void EpollReactor::forget(Client& client) {
  std::list<Client> gone;
  MutexLock lock(mutex_);
  gone.splice(gone.begin(), clients_, client.self);
}

// Closes the client's socket. If the socket came through a channel, first removes it from the epoll with epoll_ctl(2).
// Reason: the process that sent the socket may still have it open. In this case, close(2) alone would not remove the
// socket from the epoll.
void EpollReactor::close(Client& client) {
  if (client.from != nullptr && client.from->is_channel) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client.echo.fd(), nullptr);
  }
  ++tally_.ended;
  forget(client);
}

void EpollReactor::close_all() {
  std::list<Client> gone;
  {
    MutexLock lock(mutex_);
    gone.swap(clients_);
  }
  tally_.ended += gone.size();
  statistics_.add(tally_);
}

}  // namespace peal::models
