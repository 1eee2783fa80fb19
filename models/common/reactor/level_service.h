// SPDX-License-Identifier: BSD-3-Clause
// LevelService: the code that reactor_select and reactor_poll share. It stores the connections by fd, serves them,
// closes slow ones, and decides when to accept. Each model waits for events in its own way. LevelService tells the
// model what each connection waits for next. Use it on one thread only.
//
//   wait ──> listener ready:   accept(): new connections want to be read
//     ^  ├─> connection ready: serve(): says what it wants next
//     │  └─> close_late()
//     └──────────────┘
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <models/common/coroutine/slow_list.h>
#include <models/common/echo/echo_connection.h>
#include <models/model_table.h>

namespace peal::models {

class LevelService {
 public:
  // `run` must outlive the LevelService. The listener in `run` must be non-blocking.
  explicit LevelService(ModelRun& run);
  // Closes all connections and counts them as ended.
  ~LevelService();
  LevelService(const LevelService&) = delete;
  LevelService& operator=(const LevelService&) = delete;

  // Accepts one connection, or all waiting connections if options.loop_accept is set. Calls takes(fd) for each
  // connection. takes(fd) must return true if the model is able to wait for events of `fd`. For example, select(2)
  // cannot wait for an fd of 1024 or more. If takes(fd) returns false, the connection is closed and counted as refused.
  void accept(const std::function<bool(int fd)>& takes);
  // False while accepting is paused. accept() starts a pause if no fd or memory is free for another connection. The
  // pause lasts kRoomPause, and the first close_late() after this time ends the pause. During the pause, the model must
  // not wait for events of the listener. Otherwise the model would never sleep, because a waiting connection keeps the
  // listener readable.
  bool accepting() const { return accept_again_ == kNever; }

  // Serves the connection whose socket is `fd`: reads and answers, or sends the rest of an answer. Call serve() when
  // the socket is ready. Returns the event that the connection waits for next. If serve() returns kClose, it has closed
  // the connection.
  Wants serve(int fd);
  // Returns the time until which the model may wait for events. At this time, the model must call close_late(). Returns
  // kNever if there is no time limit.
  TimePoint next_deadline() const { return std::min(slow_.next(), accept_again_); }
  // Closes each connection that has been in the middle of a frame or an answer for options.slow_timeout without
  // progress. Calls on_closed(fd) before each close. Also ends a pause of accepting (see accepting()) that has lasted
  // for kRoomPause. Adds the counts of connections and requests to the statistics of `run` if a connection was accepted
  // or has ended since the last call. Call close_late() after every wait.
  void close_late(const std::function<void(int fd)>& on_closed);

 private:
  struct Client;

  bool accept_next(const std::function<bool(int fd)>& takes);

  ModelRun& run_;
  Tally tally_;
  TimePoint accept_again_ = kNever;
  SlowList slow_;
  std::vector<std::unique_ptr<Client>> clients_;  // indexed by fd
};

}  // namespace peal::models
