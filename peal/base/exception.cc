// SPDX-License-Identifier: BSD-3-Clause
// Out of line, so that exactly one frame, this constructor, stands between capture() and whoever throws.
#include <peal/base/exception.h>

namespace peal {

Exception::Exception(const std::string& message) : std::runtime_error(message) {
  capture(trace_, 1);
  asm volatile("" ::: "memory");  // something to do afterwards, or the call becomes a jump and this frame is missing
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
