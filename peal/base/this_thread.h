// SPDX-License-Identifier: BSD-3-Clause
// Name, kernel id and CPU of the calling thread. A core dump does not contain the kernel's names of the threads, so
// each name is also kept in a variable. gdb prints it:
//   gdb -batch -ex "thread apply all print (char[16])'peal::detail::thread_name'" PROGRAM CORE
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include <peal/base/result.h>

namespace peal {

// The longest thread name that the kernel keeps, in bytes. A longer name is cut at the end.
inline constexpr std::size_t kMaxThreadNameBytes = 15;

namespace detail {
// The kernel id of the calling thread, or 0 if the id has not been read from the kernel yet.
inline constinit thread_local pid_t cached_thread_id = 0;

// Reads the id from the kernel, stores it in cached_thread_id and returns it.
pid_t cache_thread_id();

// The name that set_current_thread_name() has set. Debuggers read it. Empty in a thread that was never named. The
// variable keeps its name and type in future versions, because scripts read it.
extern constinit thread_local char thread_name[kMaxThreadNameBytes + 1];
}  // namespace detail

// Returns the kernel id of the calling thread, as `top -H` shows it. In the child of fork(2), the result is the id of
// the child's thread.
inline pid_t current_thread_id() {
  const pid_t id = detail::cached_thread_id;
  return __builtin_expect(id != 0, 1) ? id : detail::cache_thread_id();
}

// Returns the kernel's name of the calling thread.
std::string current_thread_name();

// Names the calling thread. Only the first kMaxThreadNameBytes bytes are used. On the main thread this also changes the
// name of the process in `ps` and `top`.
void set_current_thread_name(std::string_view name);

// Restricts the calling thread, and the threads that it starts from now on, to one CPU. Returns EINVAL if the CPU does
// not exist or the process may not use it.
Result<void> pin_current_thread(unsigned cpu);

}  // namespace peal
