// SPDX-License-Identifier: BSD-3-Clause
// Text that may come from anybody, as it may stand in a line of a log or on a terminal. Whatever could end the line,
// drive the terminal, or show something else than is there, is written as its bytes, \xHH each: "a\nb" as "a\x0Ab".
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace peal {

// The character that begins a text.
struct TextCharacter {
  char32_t code;  // kNoCharacter: a byte that begins none in UTF-8 (RFC 3629 4)
  size_t bytes;   // of the text that it takes
};
inline constexpr char32_t kNoCharacter = UINT32_MAX;
// Of a text that is not empty.
TextCharacter first_character(std::string_view text);

// Controls: C0, DEL and C1. HTAB and the newline too.
bool is_control_character(char32_t code);
// What shows nothing itself but may change how the text around it looks: Unicode's Default_Ignorable_Code_Point
// (DerivedCoreProperties.txt, 14.0: the bidirectional controls of UAX #9, zero-width characters, variation selectors,
// tags) and the separators of lines and paragraphs, U+2028 and U+2029.
bool is_invisible_character(char32_t code);

enum class PrintableAs : uint8_t {
  kLine,    // whatever is UTF-8 and neither control nor invisible stays
  kLines,   // newlines stay, too
  kQuoted,  // of ASCII what may stand between quotes stays, as Apache and nginx have it: no quote and no backslash
};
bool is_printable(std::string_view text, PrintableAs kind = PrintableAs::kLine);
void append_printable(std::string& to, std::string_view text, PrintableAs kind = PrintableAs::kLine);
std::string printable(std::string_view text, PrintableAs kind = PrintableAs::kLine);

}  // namespace peal
