// SPDX-License-Identifier: BSD-3-Clause
// The calling thread: its name, the kernel's id of it, the CPU it runs on. A core dump, which lacks the kernel's names,
// tells them too:
//   gdb -batch -ex "thread apply all print (char[16])'peal::detail::thread_name'" PROGRAM CORE
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include <peal/base/result.h>

namespace peal {

// The kernel keeps this many bytes of a thread's name; what is longer loses its end.
inline constexpr std::size_t kMaxThreadNameBytes = 15;

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
