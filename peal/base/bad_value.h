// SPDX-License-Identifier: BSD-3-Clause
// How a value is refused that a caller passed and that may have come from a peer (a name, a code, a length) where it
// cannot be made harmless and the call has no Result to say so: by an exception, never by the end of the process.
// What leaves a callback is survived; assert.h is for threads, lifetimes and our own bugs.
//   if (status < 200 || status > 599) throw_bad_value("{} is no status of an answer", status);
#pragma once

#include <stdexcept>
#include <utility>

#include <fmt/core.h>

namespace peal {

template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_value(fmt::format_string<Args...> format, Args&&... args) {
  throw std::invalid_argument(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace peal
