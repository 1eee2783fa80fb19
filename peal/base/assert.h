// SPDX-License-Identifier: BSD-3-Clause
// PEAL_ASSERT checks a condition that only a bug in the program can break. If the condition is false, the process
// prints a sentence with the values to stderr and aborts. The check is on in every build, release builds included.
//   PEAL_ASSERT(size <= capacity, "a slice of {} bytes in a block of {}", size, capacity);
#pragma once

#include <fmt/core.h>

namespace peal::detail {

// Prints file, line, condition and the formatted message to stderr as one line of at most 2 KiB, then aborts. The
// function takes no lock and allocates no memory itself, so that it works when the heap is damaged.
[[noreturn, gnu::cold, gnu::noinline]] void assert_failed(const char* file, int line, const char* condition,
                                                          fmt::string_view format, fmt::format_args arguments);

// Packs the arguments of PEAL_ASSERT for assert_failed(). The function is out of line, so that the code at each
// PEAL_ASSERT stays small.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void assert_failed_with(const char* file, int line, const char* condition,
                                                               fmt::format_string<Args...> format, Args&&... args) {
  assert_failed(file, line, condition, format, fmt::make_format_args(args...));
}

}  // namespace peal::detail

// PEAL_ASSERT(condition, format, arguments...) is an expression of type void. The format and its arguments follow fmt,
// and the arguments are evaluated only if the condition is false.
#define PEAL_ASSERT(condition, ...)                  \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::peal::detail::assert_failed_with(__FILE__, __LINE__, #condition, __VA_ARGS__))
