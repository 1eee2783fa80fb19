// SPDX-License-Identifier: BSD-3-Clause
// Why: the outcome of a wait. It is success, or an error of any category, like a std::error_code. Unlike a
// std::error_code, a Why stores the category of errno values as a null pointer. So the compiler can build a Why inline,
// while the default constructor of std::error_code calls a function of the C++ library, on every await.
#pragma once

#include <expected>
#include <system_error>

#include <peal/base/result.h>

namespace peal::detail {

class Why {
 public:
  // Makes a success.
  constexpr Why() = default;
  // Makes an error from an errno value, or a success if the value is 0.
  constexpr Why(int errno_value) : value_(errno_value) {}
  // Makes an error from `error`, or a success if its value is 0.
  explicit Why(std::error_code error);

  bool is_error() const { return value_ != 0; }
  // Returns the error as a std::error_code. For a success, the value of the std::error_code is 0.
  std::error_code code() const { return code_of(value_, category_); }

  // True if `why` is the error of the errno value `errno_value`. If that value is 0: true if `why` is a success.
  friend constexpr bool operator==(const Why& why, int errno_value) {
    return why.value_ == errno_value && (errno_value == 0 || why.category_ == nullptr);
  }
  friend constexpr bool operator==(const Why&, const Why&) = default;

 private:
  // Has no `this`, so that the caller can keep the two values in registers.
  static std::error_code code_of(int value, const std::error_category* category);

  int value_ = 0;
  const std::error_category* category_ = nullptr;  // null for an errno value and for a success
};

// Converts a std::error_code to a Why.
inline Why why_of(std::error_code error) { return Why(error); }
// Converts a Why that is an error to a failed Result.
inline std::unexpected<std::error_code> failed(Why why) { return std::unexpected(why.code()); }

// Converts the outcome of a wait to a Result<void>: a success if `why` is 0, otherwise the error.
inline Result<void> answer_of(Why why) {
  if (why.is_error()) [[unlikely]]
    return failed(why);
  return {};
}

}  // namespace peal::detail
