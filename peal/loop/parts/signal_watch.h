// SPDX-License-Identifier: BSD-3-Clause
// SignalWatch: one loop's handlers of signals, which the process's SignalHub tells of what arrived. The loop owns it;
// its thread alone touches it, but for what is marked.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/loop/loop.h>

namespace peal::detail {

class SignalWatch final : public WatchEvents {
 public:
  explicit SignalWatch(Loop& loop) : loop_(loop) {}
  // Not while the engine watches. Gives all signals back.
  ~SignalWatch();

  // As Loop::on_signal() and Loop::cancel().
  Result<SignalId> add(int signal_number, Loop::Task handler);
  bool cancel(SignalId id);
  bool handles(int signal_number) const;
  // Watches from now on until the engine, which has opened, shuts. Doing it twice is harmless.
  void attach();

  // Any thread, under the hub's mutex: the loop shall hear of these signals, bit n - 1 is signal n.
  void post(uint64_t bits);
  // The signals that the hub posts. Guarded by its mutex.
  uint64_t wanted = 0;

  void on_ready(bool readable, bool writable) override;
  void on_unwatched() override;

 private:
  struct Handler {
    SignalId id;
    int signal_number;
    std::shared_ptr<Loop::Task> task;  // shared with the call under way: it may cancel itself
  };

  void deliver(uint64_t bits);

  Loop& loop_;
  std::vector<Handler> handlers_;
  uint64_t last_id_ = 0;
  bool joined_ = false;
  std::thread::id thread_;             // of the first add()
  sigset_t unblocked_{};               // what add() unblocked in thread_; on Linux a set of zeroes is empty
  std::atomic<uint64_t> arrived_ = 0;  // posted to the loop, not delivered
  WatchId watch_;
};

}  // namespace peal::detail
