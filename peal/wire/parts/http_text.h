// SPDX-License-Identifier: BSD-3-Clause
// Small functions for the elements of HTTP's grammar that several parsers need (RFC 9110 5.6). Pure functions; any
// thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace peal::detail {

inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// Returns true for control characters below SP, except HTAB. No line of a head may contain them (RFC 9110 5.5). DEL is
// not included, because it is harmless; kControlBytes (byte_class.h) does include it.
inline bool is_control(char byte) { return static_cast<unsigned char>(byte) < 0x20 && byte != '\t'; }

// Returns true if `text` is a token (RFC 9110 5.6.2): at least one character, and no white space or separator.
bool is_token(std::string_view text);

// Returns true for SP and HTAB.
inline bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

// Returns `text` without the spaces and tabs around it.
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Removes the next element from a comma-separated list and sets `element` to it. Returns false if no element is left.
// Empty elements are skipped. Quotes have no meaning; next_list_element() (http_field.h) respects them.
bool next_element(std::string_view& list, std::string_view& element);

// Returns the integer in the first sizeof(Word) bytes, in the byte order of this machine. Any alignment is allowed.
template <class Word>
Word load_word(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// Returns true if `text` is equal to `lower` when the case of letters is ignored. `lower` is a literal in lower case
// with 8 to 24 bytes. `text` must not contain control characters, because some of them would be taken for '-' or
// digits.
template <size_t N>
bool is_word(std::string_view text, const char (&lower)[N]) {
  constexpr size_t kBytes = N - 1;
  static_assert(kBytes >= 8 && kBytes <= 24);
  constexpr uint64_t kLowerBits = 0x2020202020202020;
  const auto differs = [&](size_t at) {
    return (load_word<uint64_t>(text.data() + at) | kLowerBits) != load_word<uint64_t>(lower + at);
  };
  if (text.size() != kBytes || differs(0) || differs(kBytes - 8)) return false;
  if constexpr (kBytes > 16) return !differs(8);
  return true;
}

// Returns true if `text` is equal to `lower` when the case of letters is ignored. `lower` must be in lower case. Unlike
// is_word(), this function allows texts of any size.
inline bool equals_lower(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t at = 0; at < lower.size(); ++at) {
    if ((text[at] | 0x20) != lower[at]) return false;
  }
  return true;
}

// Returns the value of a hexadecimal digit, or -1 if `byte` is not one.
inline int hex_value(char byte) {
  if (is_digit(byte)) return byte - '0';
  const int letter = (byte | 0x20) - 'a';
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

// Returns true if the line ends in CR LF.
inline bool ends_in_crlf(std::string_view line) { return line.ends_with("\r\n"); }

}  // namespace peal::detail
