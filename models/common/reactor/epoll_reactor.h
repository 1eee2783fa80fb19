// SPDX-License-Identifier: BSD-3-Clause
// EpollReactor: the event loop of one thread over epoll(7). It accepts connections, reads requests, does their work,
// and sends the answers. Other threads may add connections too: add() registers their sockets directly in the epoll.
//
//   epoll_wait ──> listener:   accept one or all, add each ──────────────┐
//        ^         connection: read ─> frames ─> work ─> write           │
//        │                        └ left over: EPOLLOUT ─> write ─> EPOLLIN
//        └──── close those that are too slow <────────────────────────────┘
//
// An event has a pointer to its object, a listener or a connection. This object always exists when the event is
// handled, for two reasons:
// - A batch has only one event for each object.
// - A connection is destroyed only while its own event is handled, or between two batches.
//
// Level-triggered: a socket is registered for the event that its connection waits for. Nearly always, the connection
// waits to read, so a request needs no epoll_ctl(2). The clock is read only while a connection is in the middle of a
// frame or an answer.
//
// Edge-triggered: a socket is registered once, for reading and writing. The reactor misses no event: it reads until
// EAGAIN, and waits for writing only if the socket has accepted only a part of the answer.
#pragma once

#include <sys/epoll.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <models/common/coroutine/slow_list.h>
#include <models/common/echo/echo_connection.h>
#include <models/model_table.h>
#include <peal/base/mutex.h>

namespace peal::models {

enum class Edge : bool { kLevel, kTriggered };
// Says when the reactor passes an accepted socket to its HandOver function:
// - kAccepted: immediately.
// - kReadable: when the first bytes have arrived.
enum class HandOverWhen : bool { kAccepted, kReadable };

class EpollReactor {
 public:
  // A function that takes over each accepted socket, for example to pass the socket to another thread. The function
  // owns the socket. If the function cannot pass the socket on, it closes the socket and returns an error. The reactor
  // then counts the connection in Tally::refused. Without a HandOver function, the reactor serves the accepted sockets
  // itself.
  using HandOver = std::function<Result<void>(Fd)>;

  // Creates a reactor with a new epoll(7). The epoll also contains the fd of `stop`, so that SIGTERM and SIGINT end
  // run(). If `edge` is kTriggered, options.read_until_empty must be true, because an edge-triggered epoll reports
  // unread bytes only once. Fails with an error of epoll_create1(2) or epoll_ctl(2). `options`, `stop` and `statistics`
  // must outlive the reactor.
  static Result<std::unique_ptr<EpollReactor>> make(const ModelOptions& options, const Stop& stop,
                                                    Statistics& statistics, Edge edge = Edge::kLevel);
  // Closes all connections. Do not destroy the reactor while run() executes, because run() uses the reactor's data
  // without a lock. After run(), destroy the reactor on the same thread, or after that thread has ended. No thread may
  // call add() during or after the destruction.
  ~EpollReactor();

  // Makes the reactor accept connections from `listener`, and count them in Tally::accepted. The listener must be
  // non-blocking, and must outlive the reactor. Several reactors may have the same listener. Fails with an error of
  // epoll_ctl(2). While run() executes on a thread, call listen() only on this thread, because run() reads the list of
  // listeners without a lock.
  Result<void> listen(int listener, HandOver hand_over = {}, HandOverWhen when = HandOverWhen::kAccepted);
  // Makes the reactor serve the sockets that another process sends. `channel` is the receiving end of a SocketChannel
  // (socket_channel.h), and must stay open as long as the reactor exists. Fails with an error of epoll_ctl(2). While
  // run() executes on a thread, call receive() only on this thread, for the same reason as listen().
  Result<void> receive(int channel);
  // Makes the reactor serve `socket`, which must be non-blocking. If the socket cannot be added to the epoll, closes
  // the socket and returns the error. May be called on any thread while the reactor exists.
  Result<void> add(Fd socket);
  // Serves connections until SIGTERM or SIGINT arrives. Then closes all connections and returns. If epoll_wait(2)
  // fails, returns its error immediately. In this case, only the destructor closes the connections.
  Result<void> run();

 private:
  struct Watched;
  struct Listener;
  struct Client;

  EpollReactor(const ModelOptions& options, Statistics& statistics, Edge edge, Fd epoll);
  Result<void> add_client(Fd socket, const Listener* from);
  Result<void> watch(int operation, int fd, uint32_t events, Watched* watched);
  void dispatch(const epoll_event& event);
  void accept(Listener& listener);
  bool accept_next(Listener& listener);
  Result<void> settle(Fd socket, const Listener& listener);
  void hand_over(Client& client);
  void serve(Client& client, uint32_t events);
  void await(Client& client, Wants next);
  TimePoint next_deadline() const;
  void between_batches();
  TimePoint now();
  void forget(Client& client);
  void close(Client& client);
  void close_all();
  uint32_t asked_for(Wants wants) const;

  const ModelOptions& options_;
  Statistics& statistics_;
  const bool edge_;
  const bool registered_once_;  // a socket is registered once, for both reading and writing
  const Fd epoll_;
  std::vector<epoll_event> events_;
  bool stopping_ = false;
  Tally tally_;
  std::optional<TimePoint> now_;  // the time of this batch of events, or empty if the clock was not read yet
  std::list<Listener> listeners_;
  SlowList slow_;
  Mutex mutex_;
  std::list<Client> clients_ PEAL_GUARDED_BY(mutex_);
};

}  // namespace peal::models
