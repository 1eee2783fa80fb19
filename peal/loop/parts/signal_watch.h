// SPDX-License-Identifier: BSD-3-Clause
// SignalWatch: one loop's handlers of signals. The loop owns it; its thread alone touches it, but for what is marked.
//
// A signal's disposition is the process's, so all SignalWatches share one hub. Its handler, on whatever thread the
// kernel picks, sets a bit and writes to an eventfd; every loop that handles signals watches that eventfd, and the one
// that sees it first tells all loops concerned, through their mailboxes. So a signal is heard by every loop, threads
// need no mask, and a program that is executed inherits none.
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
  // Gives all signals back. What was posted to the loop stays posted.
  ~SignalWatch();

  // As Loop::on_signal() and Loop::cancel().
  Result<SignalId> add(int signal_number, Loop::Callback handler);
  bool cancel(SignalId id);
  // Watches from now on until the engine, which has opened, shuts. Doing it twice is harmless, and tries again what the
  // engine has refused.
  void attach();

 private:
  struct Handler {
    SignalId id;
    int signal_number;
    std::shared_ptr<Loop::Callback> task;  // shared with the call under way: it may cancel itself
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
  std::thread::id thread_;             // of the first add()
  sigset_t unblocked_{};               // what add() unblocked in thread_; on Linux a set of zeroes is empty
  uint64_t wanted_ = 0;                // the signals of the handlers; guarded by the hub's mutex
  std::atomic<uint64_t> arrived_ = 0;  // posted to the loop, not delivered
  std::optional<Watch> watch_;         // of the hub's eventfd
};

}  // namespace peal::detail
