// SPDX-License-Identifier: BSD-3-Clause
// throw_bad_value() refuses an argument that is out of range and may have come from a peer: a name, a code, a length. A
// function uses it if it has no Result to return and cannot make the value harmless.
//
// The function throws, and does not assert: the process must not end because of a peer's data, and an exception that
// leaves a callback is caught by the library. PEAL_ASSERT (assert.h) is for wrong threads, wrong lifetimes and bugs.
//   if (status < 200 || status > 599) throw_bad_value("{} is not the status of an answer", status);
#pragma once

#include <stdexcept>
#include <utility>

#include <fmt/core.h>

namespace peal {

// Throws std::invalid_argument with the formatted message. The format follows fmt.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_value(fmt::format_string<Args...> format, Args&&... args) {
  throw std::invalid_argument(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace peal
