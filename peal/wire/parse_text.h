// SPDX-License-Identifier: BSD-3-Clause
// parse_text<T>(): a value that came as text, in a query, a form or a path say, where all of the text is that value.
// Pure; any thread.
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
template <class T, class... Others>
concept NoneOf = (!std::same_as<T, Others> && ...);
}  // namespace detail

// Numbers and bool; characters are text already.
template <class T>
concept ParsedFromText =
    std::floating_point<T> || (std::integral<T> && detail::NoneOf<T, char, wchar_t, char8_t, char16_t, char32_t>);

// Nothing for an empty text, for one with anything else in it, blanks and a plus sign too, and for what T cannot hold.
// Integers are decimal; numbers with a point may have an exponent, and are neither infinite nor "nan". bool is "true"
// or "1" or "on" (which is what a browser sends for a box that was ticked), "false" or "0" or "off", in lower case.
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
      // Neither infinity nor nan is between these.
      if (!(value >= std::numeric_limits<T>::lowest() && value <= std::numeric_limits<T>::max())) return std::nullopt;
    }
    return value;
  }
}

}  // namespace peal
