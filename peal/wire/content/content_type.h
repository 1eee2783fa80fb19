// SPDX-License-Identifier: BSD-3-Clause
// Content-Type and what else has parameters: "multipart/form-data; boundary=x", "attachment; filename=y" (RFC
// 9110 5.6.6, 8.3.1). Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

// Whether the value of a Content-Type field is this type, its parameters aside, in any case of letters. `type` in lower
// case: "application/json".
bool is_content_type(std::string_view field_value, std::string_view type);

// One parameter, views into what it was read from.
struct FieldParameter {
  std::string_view name;   // a token; its case does not matter
  std::string_view value;  // what stands between the quotes, as it stands there, backslashes too; or a token
  bool quoted = false;
};
// What a backslash between quotes does: it hides the quote behind it (RFC 9110 5.6.4), or is a character like others,
// as in the forms of browsers.
enum class Backslash : uint8_t { kHidesQuote, kIsText };
// Cuts the next one off `rest`, which begins at a semicolon or with blanks before one. False when there is none left:
// `rest` is empty then, and what is left of it where it is not well formed. Empty ones are passed over.
bool next_field_parameter(std::string_view& rest, FieldParameter& parameter,
                          Backslash backslash = Backslash::kHidesQuote);
// What stands before the first semicolon, without blanks; `rest` is what follows, for next_field_parameter().
std::string_view split_parameters(std::string_view field_value, std::string_view& rest);

// The value of the first parameter of that name, quoted pairs resolved (RFC 9110 5.6.4). Nothing where there is none
// before the first that is not well formed.
std::optional<std::string> find_parameter(std::string_view field_value, std::string_view name);

}  // namespace peal
