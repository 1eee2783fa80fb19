// SPDX-License-Identifier: BSD-3-Clause
// The constructor is not inlined, so that exactly one frame lies between capture() and the function that throws.
#include <peal/base/exception.h>

namespace peal {

Exception::Exception(const std::string& message) : std::runtime_error(message) {
  capture(trace_, 1);
  asm volatile("" ::: "memory");  // prevents a tail call, which would remove this frame
}

const char* what_was_thrown() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace peal
