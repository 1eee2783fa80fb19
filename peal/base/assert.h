// SPDX-License-Identifier: BSD-3-Clause
// A programmer's error stops the process with a sentence that prints the values. Always on, in every build.
//   PEAL_ASSERT(size <= capacity, "a slice of {} bytes in a block of {}", size, capacity);
#pragma once

#include <fmt/core.h>

namespace peal::detail {

// Prints where, what and why to stderr and aborts.
[[noreturn, gnu::cold, gnu::noinline]] void assert_failed(const char* file, int line, const char* condition,
                                                          fmt::string_view format, fmt::format_args arguments);

template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void assert_failed_with(const char* file, int line, const char* condition,
                                                               fmt::format_string<Args...> format, Args&&... args) {
  assert_failed(file, line, condition, format, fmt::make_format_args(args...));
}

}  // namespace peal::detail

#define PEAL_ASSERT(condition, ...)                  \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::peal::detail::assert_failed_with(__FILE__, __LINE__, #condition, __VA_ARGS__))
