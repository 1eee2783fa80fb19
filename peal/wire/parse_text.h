// SPDX-License-Identifier: BSD-3-Clause
// parse_text<T>() reads a number or a bool from text, such as a value of a query, a form or a path. The whole text must
// be the value. Pure; any thread.
//
//   std::optional<uint16_t> port = parse_text<uint16_t>("8080");
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace peal {

namespace detail {
// True if T is none of the types in `Others`.
template <class T, class... Others>
concept NoneOf = (!std::same_as<T, Others> && ...);
}  // namespace detail

// The types that parse_text() can read: numbers and bool. C++ counts the character types as integers, but their text
// would not be a number, so they are excluded.
template <class T>
concept ParsedFromText =
    std::floating_point<T> || (std::integral<T> && detail::NoneOf<T, char, wchar_t, char8_t, char16_t, char32_t>);

// Returns the value that `text` stands for. Returns nullopt if the text is empty, has other characters in it (blanks
// and a plus sign included), or if T cannot hold the value.
// - Integers are decimal.
// - Floating-point numbers may have a point and an exponent. Infinity and NaN are refused.
// - A bool is "true", "1" or "on", or "false", "0" or "off", all in lower case. Browsers send "on" for a ticked box.
template <ParsedFromText T>
std::optional<T> parse_text(std::string_view text) {
  if constexpr (std::same_as<T, bool>) {
    if (text == "true" || text == "1" || text == "on") return true;
    if (text == "false" || text == "0" || text == "off") return false;
    return std::nullopt;
  } else {
    T value{};
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const std::from_chars_result read = std::from_chars(begin, end, value);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    if constexpr (std::floating_point<T>) {
      // from_chars() accepts infinity and NaN, but this comparison is false for them.
      if (!(value >= std::numeric_limits<T>::lowest() && value <= std::numeric_limits<T>::max())) return std::nullopt;
    }
    return value;
  }
}

}  // namespace peal
