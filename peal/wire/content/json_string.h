// SPDX-License-Identifier: BSD-3-Clause
// append_json_string() writes any bytes as a string of JSON (RFC 8259 7). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace peal {

// Appends `text` in quotes. The result is valid JSON whatever bytes `text` has: bytes that are not UTF-8 become U+FFFD.
// Control characters, and invisible characters that could change how a line looks (printable.h), are written as \uXXXX.
// So the result has no newline and cannot disturb a terminal. Other characters stay as they are.
void append_json_string(std::string& to, std::string_view text);

}  // namespace peal
