// SPDX-License-Identifier: BSD-3-Clause
// Lower case and trimming for ASCII text. The locale has no influence. The functions are pure and may be called from
// any thread.
#pragma once

#include <string>
#include <string_view>

namespace peal {

// Returns the lower-case form of an ASCII letter. Every other byte is returned unchanged.
constexpr char to_lower(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte; }

// Returns a copy of `text` in which each ASCII letter is in lower case. The other bytes stay as they are.
inline std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& byte : lower) byte = to_lower(byte);
  return lower;
}

// Returns `text` without the spaces, tabs, CRs and LFs at its beginning and at its end. The result is a view into
// `text`.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

}  // namespace peal
