// SPDX-License-Identifier: BSD-3-Clause
// An option that takes a number, and refuses any other text. CLI11's own conversion reads an empty text as 0, "010" as
// 8, "-1" as the greatest number there is, and what is too large as that, too.
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

// Nothing: the text is no number in decimal digits, or one below `least` or above `most`.
template <class Number>
std::optional<Number> read_number(std::string_view text, Number least, Number most) {
  const std::optional<Number> number = parse_text<Number>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

// `place`, a number or an optional one, lives as long as the command. What it holds now is the default, where it is one
// that could be given.
template <class Number, class Place>
CLI::Option* add_number(CLI::App& command, const std::string& name, Place& place, Number least,
                        std::type_identity_t<Number> most, const std::string& what) {
  const auto judge = [least, most](const std::string& text) {
    if (read_number(text, least, most)) return std::string();
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

// The same, of which the program itself knows more exactly which numbers make sense.
template <class Place>
CLI::Option* add_number(CLI::App& command, const std::string& name, Place& place, const std::string& what) {
  using Number = std::remove_reference_t<decltype(*std::optional(place))>;
  return add_number(command, name, place, Number{0}, std::numeric_limits<Number>::max(), what)->type_name("NUMBER");
}

}  // namespace peal::cli
