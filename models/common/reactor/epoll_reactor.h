// SPDX-License-Identifier: BSD-3-Clause
// EpollReactor: one thread's event loop over epoll(7), written out: wait, then for each event accept, read, work and
// write, or write what was left. Connections may also be added from another thread, straight into the epoll.
//
//   epoll_wait ──> listener:   accept one or all, add each ──────────────┐
//        ^         connection: read ─> frames ─> work ─> write           │
//        │                        └ left over: EPOLLOUT ─> write ─> EPOLLIN
//        └──── close those that are too slow <────────────────────────────┘
//
// An event carries a pointer to what it is about. No event of a batch meets somebody dead: a batch has one event for
// each, and whoever is served to the end dies in its own; who is too slow dies between batches.
// Level-triggered, a socket is registered for what it wants next, nearly always to be read: no epoll_ctl(2) is needed
// for a request, and the clock is asked only while somebody waits in the middle of something. Edge-triggered, it is
// registered once for both; whoever reads until nothing is left and writes until nothing more fits misses no edge.
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
// When an accepted socket is handed over: at once, or when its first bytes are there.
enum class HandOverWhen : bool { kAccepted, kReadable };

class EpollReactor {
 public:
  // Whoever gets an accepted socket; without one it is served here. An error: it was refused, and closed.
  using HandOver = std::function<Result<void>(Fd)>;

  // epoll_create1(2), or the adding of the stop signal, failed. Edge-triggered, `options` say read_until_empty.
  static Result<std::unique_ptr<EpollReactor>> make(const ModelOptions& options, const Stop& stop,
                                                    Statistics& statistics, Edge edge = Edge::kLevel);
  // On the thread that ran it, or when that has ended; no other thread adds any more.
  ~EpollReactor();

  // Accepts from it from now on, and counts them. Before run(), or on its thread. The listener does not block and
  // outlives the reactor; several reactors may have the same.
  Result<void> listen(int listener, HandOver hand_over = {}, HandOverWhen when = HandOverWhen::kAccepted);
  // Serves the sockets that come through the channel (socket_channel.h), which outlives the reactor. As listen().
  Result<void> receive(int channel);
  // Serves the socket, which does not block. Any thread, from the beginning to the destruction. An error closes it.
  Result<void> add(Fd socket);
  // Until the stop is asked. Then every connection is closed.
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
  const bool registered_once_;  // for reading and writing, at the beginning
  const Fd epoll_;
  std::vector<epoll_event> events_;
  bool stopping_ = false;
  Tally tally_;
  std::optional<TimePoint> now_;  // of this batch, once somebody asked
  std::list<Listener> listeners_;
  SlowList slow_;
  Mutex mutex_;
  std::list<Client> clients_ PEAL_GUARDED_BY(mutex_);
};

}  // namespace peal::models
