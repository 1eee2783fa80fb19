// SPDX-License-Identifier: BSD-3-Clause
// Reads Content-Type and other field values with parameters, such as "multipart/form-data; boundary=x" and "attachment;
// filename=y" (RFC 9110 5.6.6, 8.3.1). Pure functions; any thread. Returned views point into the text that was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

// True if a Content-Type field names this type. Parameters of the field and the case of letters do not matter. `type`
// must be in lower case and without parameters, such as "application/json".
bool is_content_type(std::string_view field_value, std::string_view type);

// One parameter of a field value.
struct FieldParameter {
  std::string_view name;   // a token; the case of letters does not matter
  std::string_view value;  // a token, or the text between the quotes with its backslashes still in it
  bool quoted = false;
};

// How a backslash inside a quoted value is read.
enum class Backslash : uint8_t {
  kHidesQuote,  // the backslash escapes the next character, so that `\"` does not end the value (RFC 9110 5.6.4)
  kIsText,      // the backslash is an ordinary character, as in the forms that browsers send
};

// Reads the next parameter from the front of `rest` and removes its text. `rest` must begin with a semicolon, or with
// blanks before a semicolon. Empty parameters are skipped. Returns false if no parameter is left, and `rest` is then
// empty. Also returns false at a malformed parameter, and `rest` then begins with that parameter.
bool next_field_parameter(std::string_view& rest, FieldParameter& parameter,
                          Backslash backslash = Backslash::kHidesQuote);

// Returns the text before the first semicolon without the blanks around that text. Sets `rest` to the remaining text,
// from the semicolon on, for next_field_parameter().
std::string_view split_parameters(std::string_view field_value, std::string_view& rest);

// Returns the value of the first parameter with this name, without the backslashes of its quoted pairs (RFC 9110
// 5.6.4). `name` may be in any case of letters. Returns nullopt if the field has no such parameter, or if a malformed
// parameter precedes it.
std::optional<std::string> find_parameter(std::string_view field_value, std::string_view name);

}  // namespace peal
