// SPDX-License-Identifier: BSD-3-Clause
// Utf8Checker: whether text that arrives in pieces is UTF-8 (RFC 3629 4): no overlong form, no surrogate, nothing
// beyond U+10FFFF. It says no at the first byte that cannot be right. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace peal {

class Utf8Checker {
 public:
  // False as soon as no continuation could make it UTF-8; the checker is of no use then until clear().
  bool take(std::string_view bytes);
  // Whether what was taken ends with a whole character.
  bool whole() const { return missing_ == 0; }
  void clear() { *this = Utf8Checker(); }

 private:
  bool begin_character(uint8_t lead);

  uint8_t missing_ = 0;  // bytes of the character under way
  uint8_t least_ = 0;    // of the next one of them
  uint8_t most_ = 0;
};

// Of text that is there as a whole.
inline bool is_utf8(std::string_view text) {
  Utf8Checker checker;
  return checker.take(text) && checker.whole();
}

}  // namespace peal
