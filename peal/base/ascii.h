// SPDX-License-Identifier: BSD-3-Clause
// Letters and blanks of ASCII, whatever the locale says. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace peal {

constexpr char to_lower(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte; }
inline std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& byte : lower) byte = to_lower(byte);
  return lower;
}

// Without the blanks around it: spaces, tabs and ends of lines.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

}  // namespace peal
