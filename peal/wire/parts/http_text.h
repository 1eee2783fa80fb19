// SPDX-License-Identifier: BSD-3-Clause
// The words of HTTP's grammar that its parsers share (RFC 9110 5.6).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace peal::detail {

inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }
// A control that no line of a head may hold (RFC 9110 5.5): HTAB is text, DEL is harmless.
inline bool is_control(char byte) { return static_cast<unsigned char>(byte) < 0x20 && byte != '\t'; }
// Whether `text` is a token: at least one character, none of them a separator.
bool is_token(std::string_view text);
inline bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }
// Without the spaces and tabs around it.
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}
// Cuts the next element off a comma-separated list; false when there is none left. Empty ones are passed over.
bool next_element(std::string_view& list, std::string_view& element);

template <class Word>
Word load_word(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// Whether `text`, among which is no control, is `lower` but for the case of letters; 8 to 24 bytes.
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

// The same for words of any size.
inline bool equals_lower(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t at = 0; at < lower.size(); ++at) {
    if ((text[at] | 0x20) != lower[at]) return false;
  }
  return true;
}

// The value of a hexadecimal digit, or -1.
inline int hex_value(char byte) {
  if (is_digit(byte)) return byte - '0';
  const int letter = (byte | 0x20) - 'a';
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

// Whether a line that ends in LF ends in CR LF.
inline bool ends_in_crlf(std::string_view line) { return line.ends_with("\r\n"); }

}  // namespace peal::detail
