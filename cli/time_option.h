// SPDX-License-Identifier: BSD-3-Clause
// TimeOption: reads the text of an option that takes a time, such as 500ms, and refuses any other text.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <load/plan/load_options.h>

namespace peal::cli {

struct TimeOption {
  std::string_view name;
  std::string_view takes;  // text for the error message "NAME takes ...": "a time such as 5s"
  bool or_off = false;     // true if the option also takes the word "off", which stands for 0
  Duration least = Duration::zero();
  Duration most = Duration::max();

  // Parses `text` and stores the time in `place`. Returns a sentence that says what is wrong with `text`, or an empty
  // text.
  std::string read(const std::string& text, Duration& place) const {
    const bool is_off = or_off && text == "off";
    const auto time = is_off ? Duration::zero() : load::parse_duration(text);
    if (!is_off && (!time || *time < least || *time > most)) {
      return fmt::format("{} takes {}{}, not '{}'", name, or_off ? "off or " : "", takes, text);
    }
    place = *time;
    return {};
  }
};

// The shortest time that is not 0: 1 ns. An option refuses 0 if its `least` has this value.
inline constexpr Duration kAnyTime{1};

}  // namespace peal::cli
