// SPDX-License-Identifier: BSD-3-Clause
// LevelService: what reactor_select and reactor_poll have in common: the connections by fd, their service, who is too
// slow, and when to accept. What is waited for, and how, is theirs: they are told what each connection wants next.
// One thread.
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
  // `run` outlives it; its listener does not block.
  explicit LevelService(ModelRun& run);
  // Closes every connection, and counts them as ended.
  ~LevelService();
  LevelService(const LevelService&) = delete;
  LevelService& operator=(const LevelService&) = delete;

  // One connection, or all that wait (loop_accept). `takes` is asked for each whether it can be waited for, to be read;
  // one that cannot be is closed, and counted as refused.
  void accept(const std::function<bool(int fd)>& takes);
  // False: there was no room for another connection a moment ago, and the listener is better not waited for.
  bool accepting() const { return accept_again_ == kNever; }

  // The connection is ready for what it wants. kClose: it is closed.
  Wants serve(int fd);
  // When the wait has to end at the latest.
  TimePoint next_deadline() const { return std::min(slow_.next(), accept_again_); }
  // After each wait: closes who is too slow, and tells of them.
  void close_late(const std::function<void(int fd)>& on_closed);

 private:
  struct Client;

  bool accept_next(const std::function<bool(int fd)>& takes);

  ModelRun& run_;
  Tally tally_;
  TimePoint accept_again_ = kNever;
  SlowList slow_;
  std::vector<std::unique_ptr<Client>> clients_;  // by fd
};

}  // namespace peal::models
