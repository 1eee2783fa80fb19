// SPDX-License-Identifier: BSD-3-Clause
// SignalWatch: the signal handlers of one loop. The loop owns it, and only the loop's thread uses it, except for
// members with a comment that says otherwise.
//
// A process has one disposition per signal, so all SignalWatches share one hub with one eventfd. A signal takes this
// way:
//   1. The kernel calls the hub's signal handler on any thread. The handler sets the signal's bit and writes to the
//      eventfd.
//   2. Every loop with signal handlers watches the eventfd. The first one to see it readable takes the bits.
//   3. That loop posts to every loop that handles one of these signals, through the loops' mailboxes.
// So every loop gets every signal it handles. Threads need no signal mask, and a program started with exec inherits
// none.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/loop/watch.h>

namespace peal::detail {

class SignalWatch {
 public:
  explicit SignalWatch(Loop& loop) : loop_(loop) {}
  // Cancels all handlers. Posted tasks that call call_handlers() refer to this object, so the loop must have destroyed
  // these tasks before.
  ~SignalWatch();

  // add() implements Loop::on_signal(), and cancel() implements Loop::cancel() for handlers.
  Result<SignalId> add(int signal_number, Loop::Callback handler);
  bool cancel(SignalId id);
  // Starts to watch the hub's eventfd until the engine shuts. The engine must be open. A second call does nothing,
  // unless the engine has refused the first watch: then it tries again.
  void attach();

 private:
  struct Handler {
    SignalId id;
    int signal_number;
    std::shared_ptr<Loop::Callback> task;  // shared with a call in progress, which may cancel its own handler
  };

  Result<void> join_hub();
  Result<void> handle_signal(int signal_number);
  static Result<int> shared_fd();
  static void post_arrivals();
  void call_handlers(uint64_t bits);

  Loop& loop_;
  std::vector<Handler> handlers_;
  uint64_t last_id_ = 0;
  bool joined_ = false;
  std::thread::id thread_;             // the thread of the first add()
  sigset_t unblocked_{};               // the signals that add() unblocked in thread_; on Linux all zeroes is empty
  uint64_t wanted_ = 0;                // bits of the signals that have a handler here; guarded by the hub's mutex
  std::atomic<uint64_t> arrived_ = 0;  // bits of the signals that were posted to the loop and await their handlers
  std::optional<Watch> watch_;         // the watch of the hub's eventfd
};

}  // namespace peal::detail
