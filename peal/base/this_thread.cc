// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/this_thread.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace peal {

[[gnu::used]] constinit thread_local char detail::thread_name[kMaxThreadNameBytes + 1] = {};

pid_t detail::cache_thread_id() {
  // The child of fork(2) inherits the cached id of its parent, so the handler clears the id in the child. The thread
  // that called fork(2) is the only one in the child, and the handler runs on that thread.
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { detail::cached_thread_id = 0; });
  cached_thread_id = ::gettid();
  return cached_thread_id;
}

std::string current_thread_name() {
  std::array<char, kMaxThreadNameBytes + 1> name{};
  ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  return name.data();
}

void set_current_thread_name(std::string_view name) {
  auto& kept = detail::thread_name;
  kept[name.copy(kept, kMaxThreadNameBytes)] = '\0';
  ::pthread_setname_np(::pthread_self(), kept);
}

Result<void> pin_current_thread(unsigned cpu) {
  if (cpu >= CPU_SETSIZE) return fail(EINVAL);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (const int error = ::pthread_setaffinity_np(::pthread_self(), sizeof(cpus), &cpus); error != 0) return fail(error);
  return {};
}

}  // namespace peal
