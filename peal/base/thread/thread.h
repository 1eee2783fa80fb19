// SPDX-License-Identifier: BSD-3-Clause
// Thread is a std::jthread with a name that `top -H`, gdb and perf show, and with a start that can fail.
// Its owner, on one thread at a time, starts and joins it; the destructor asks it to stop and joins.
#pragma once

#include <stop_token>
#include <string_view>
#include <thread>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/base/this_thread.h>

namespace peal {

class Thread {
 public:
  using Body = Callback<void(const std::stop_token&)>;

  // Not running.
  Thread() = default;
  // Runs `body` on a new thread that bears the name before the body begins. An exception that leaves the body ends
  // the process. EAGAIN: the machine, the user or the cgroup has no thread left.
  static Result<Thread> start(std::string_view name, Body body);

  bool joinable() const { return thread_.joinable(); }
  // Waits for the body to return. Asserts that it is not called by the thread itself, nor when not joinable.
  void join();
  // Any thread; the body sees it through its stop token.
  bool request_stop() { return thread_.request_stop(); }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  explicit Thread(std::jthread thread) : thread_(std::move(thread)) {}

  std::jthread thread_;
};

}  // namespace peal
