// SPDX-License-Identifier: BSD-3-Clause
// add_number(): adds an option that takes a number and refuses any other text.
//
// CLI11's own conversion accepts too much:
// - It reads an empty text as 0, and "010" as 8.
// - It reads "-1" and numbers that are too large as the largest number of the type.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <peal/wire/parse_text.h>

namespace peal::cli {

// Parses a decimal number. Returns nothing if `text` is no number, or if the number is less than `least` or more than
// `most`.
template <class Number>
std::optional<Number> read_number(std::string_view text, Number least, Number most) {
  const std::optional<Number> number = parse_text<Number>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

// Adds the option `name` with the help text `what`. The option takes a number from `least` to `most`, and stores the
// number in `place`. `place` is a number or a std::optional, and must outlive `command`. If `place` is a number and its
// value is from `least` to `most`, the help shows this value as the default. Otherwise the help shows no default.
template <class Number, class Place>
CLI::Option* add_number(CLI::App& command, const std::string& name, Place& place, Number least,
                        std::type_identity_t<Number> most, const std::string& what) {
  const auto judge = [least, most](const std::string& text) {
    if (read_number(text, least, most)) return std::string();
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    if (most == std::numeric_limits<Number>::max() && !digits) {
      return fmt::format("it takes a number from {} on, not '{}'", least, text);
    }
    return fmt::format("it takes a number from {} to {}, not '{}'", least, most, text);
  };
  const auto take = [&place, least, most](const std::string& text) {
    const Number number = read_number(text, least, most).value();
    place = number;
  };
  CLI::Option* option = command.add_option_function<std::string>(name, take, what)
                            ->check(CLI::Validator(judge, ""))
                            ->type_name(fmt::format("NUMBER {}..{}", least, most));
  if constexpr (std::is_arithmetic_v<Place>) {
    if (place >= Place(least) && place <= Place(most)) option->default_str(fmt::to_string(place));
  }
  return option;
}

// Adds an option that takes any number from 0 to the largest one of its type. The command must check later whether the
// number makes sense.
template <class Place>
CLI::Option* add_number(CLI::App& command, const std::string& name, Place& place, const std::string& what) {
  using Number = std::remove_reference_t<decltype(*std::optional(place))>;
  return add_number(command, name, place, Number{0}, std::numeric_limits<Number>::max(), what)->type_name("NUMBER");
}

}  // namespace peal::cli
