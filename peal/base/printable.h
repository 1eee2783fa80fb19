// SPDX-License-Identifier: BSD-3-Clause
// Makes text that may come from a peer safe for a log line or a terminal. Characters are escaped if they could end the
// line, control the terminal or make the text look different from what it is. Bytes that are not valid UTF-8 are
// escaped too. Each byte of an escaped character is written as \xHH: "a\nb" becomes "a\x0Ab". All functions are pure
// and may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace peal {

// The first character of a text.
struct TextCharacter {
  char32_t code;  // kNoCharacter if the text does not begin with valid UTF-8 (RFC 3629 4)
  size_t bytes;   // how many bytes of the text the character has; 1 if it is not valid
};
// The value of TextCharacter::code if the text does not begin with a valid UTF-8 character.
inline constexpr char32_t kNoCharacter = UINT32_MAX;

// Decodes the first character of `text`, which must not be empty.
TextCharacter first_character(std::string_view text);

// True for the control characters C0, DEL and C1. HTAB and the newline are among them.
bool is_control_character(char32_t code);
// True for characters that are not visible and can change how the text around them looks:
//   - Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt, 14.0), which has the bidirectional
//     controls of UAX #9, zero-width characters, variation selectors and tags;
//   - the line separator U+2028 and the paragraph separator U+2029.
bool is_invisible_character(char32_t code);

// Says which characters are allowed in the output. All other characters are escaped.
enum class PrintableAs : uint8_t {
  kLine,    // valid UTF-8 that is neither a control nor an invisible character
  kLines,   // the characters of kLine, and newlines
  kQuoted,  // printable ASCII except '"' and '\', for a quoted field of an access log, as in Apache and nginx
};

// True if `kind` allows all characters of `text`, so that no character has to be escaped.
bool is_printable(std::string_view text, PrintableAs kind = PrintableAs::kLine);

// Appends `text` to `to`. Characters that `kind` does not allow are escaped.
void append_printable(std::string& to, std::string_view text, PrintableAs kind = PrintableAs::kLine);

// Returns a copy of `text` in which the characters that `kind` does not allow are escaped.
std::string printable(std::string_view text, PrintableAs kind = PrintableAs::kLine);

}  // namespace peal
