// SPDX-License-Identifier: BSD-3-Clause
// Writes values of the inspector's JSON as people read them. The end of a member's name says what its number counts:
// "_bytes", "_seconds" or "_share".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace peal::detail {

// Returns a number with its digits in groups of three: 1234567 becomes "1,234,567".
std::string human_number(int64_t number);

// Returns a duration as text: "250 µs", "1.5 s", "2:03:04" (hours, minutes, seconds), "3 d 4 h".
std::string human_seconds(double seconds);

// Returns a value as text. `key` is the name of its member. Texts of an array are joined by commas. Returns an empty
// text for null and for objects.
std::string human_value(std::string_view key, const nlohmann::ordered_json& value);

// Returns the name of a member as a heading: "held_bytes" becomes "held".
std::string human_heading(std::string_view key);

// Returns the title of a section of a page: "metrics" becomes "this program's metrics".
std::string section_title(std::string_view name);

// Returns the name of a member with its unit at the end. A row with a member `unit` says the unit of its figures there:
// `value` becomes "value_bytes". Other rows have the unit in the names of the members.
std::string key_with_unit(std::string_view key, const nlohmann::ordered_json& row);

// Returns whether the value is an array of objects, which is shown as a table.
bool is_rows(const nlohmann::ordered_json& value);

}  // namespace peal::detail
