// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/why.h>

namespace peal::detail {
namespace {

bool is_errno(const std::error_category& category) {
  return category == std::generic_category() || category == std::system_category();
}

}  // namespace

// An error with the value 0 is a success, whatever its category: it must equal Why().
Why::Why(std::error_code error)
    : value_(error.value()), category_(!error || is_errno(error.category()) ? nullptr : &error.category()) {}

std::error_code Why::code_of(int value, const std::error_category* category) {
  return category == nullptr ? errno_code(value) : std::error_code(value, *category);
}

}  // namespace peal::detail
