// SPDX-License-Identifier: BSD-3-Clause
// Utf8Checker: checks whether a text that arrives in pieces is UTF-8 (RFC 3629 4). Overlong forms, surrogates and
// characters beyond U+10FFFF are not UTF-8. The checker fails at the first byte that cannot be part of UTF-8. No I/O;
// one thread at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace peal {

class Utf8Checker {
 public:
  // Reads the next piece of the text; a piece may end inside a character. Returns false if the text so far cannot be
  // the beginning of UTF-8. After false, call clear() before the next take().
  bool take(std::string_view bytes);

  // True if the text so far does not end inside a character. A text is UTF-8 if every take() returned true and whole()
  // is true at its end.
  bool whole() const { return missing_ == 0; }

  // Prepares the checker for another text.
  void clear() { *this = Utf8Checker(); }

 private:
  // Reads the first byte of a character. Returns false if no character begins with this byte.
  bool begin_character(uint8_t lead);

  uint8_t missing_ = 0;  // how many bytes of the current character have not arrived
  uint8_t least_ = 0;    // the smallest value allowed for the next of these bytes
  uint8_t most_ = 0;     // the largest value allowed for the next of these bytes
};

// True if the whole text is UTF-8.
inline bool is_utf8(std::string_view text) {
  Utf8Checker checker;
  return checker.take(text) && checker.whole();
}

}  // namespace peal
