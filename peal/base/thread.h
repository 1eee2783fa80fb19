// SPDX-License-Identifier: BSD-3-Clause
// Thread is a std::jthread with a name that `top -H`, gdb and perf show, and with a start that can fail. A core dump,
// which lacks the kernel's names, tells them too:
//   gdb -batch -ex "thread apply all print 'peal::detail::thread_name'" PROGRAM CORE
// Its owner, on one thread at a time, starts and joins it; the destructor asks it to stop and joins.
#pragma once

#include <sys/types.h>

#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <peal/base/callback.h>
#include <peal/base/result.h>

namespace peal {

// The kernel keeps this many bytes of a thread's name; what is longer loses its end.
inline constexpr std::size_t kMaxThreadNameBytes = 15;

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

namespace detail {
inline constinit thread_local pid_t cached_thread_id = 0;
pid_t cache_thread_id();
// For debuggers: what set_current_thread_name() was told; empty in threads that nobody named. Part of the contract.
extern constinit thread_local char thread_name[kMaxThreadNameBytes + 1];
}  // namespace detail

// The kernel's id of the calling thread, as `top -H` shows it; right in the child after fork(2) too.
inline pid_t current_thread_id() {
  const pid_t id = detail::cached_thread_id;
  return __builtin_expect(id != 0, 1) ? id : detail::cache_thread_id();
}
std::string current_thread_name();
// The first kMaxThreadNameBytes bytes of `name`. On the main thread this renames the process in `ps` and `top`.
void set_current_thread_name(std::string_view name);

// From now on the calling thread, and the threads it starts, run on `cpu` alone. EINVAL: no such CPU, or one the
// process may not use.
Result<void> pin_current_thread(unsigned cpu);

}  // namespace peal
