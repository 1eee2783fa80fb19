// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/json_string.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <peal/base/printable.h>

namespace peal {
namespace {

bool is_plain_in_json(char byte) { return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\'; }

// Appends \uXXXX, or two of these for a character beyond U+FFFF (UTF-16).
void append_json_escape(std::string& to, char32_t code) {
  if (code > 0xFFFF) {
    code -= 0x10000;
    append_json_escape(to, 0xD800 + (code >> 10));
    code = 0xDC00 + (code & 0x3FF);
  }
  fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(code));
}

}  // namespace

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const auto plain = static_cast<size_t>(std::ranges::find_if_not(text, is_plain_in_json) - text.begin());
    to += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto [code, bytes] = first_character(text);
    if (code == kNoCharacter) {
      to += "\xEF\xBF\xBD";
    } else if (code == '"' || code == '\\') {
      to += '\\';
      to += text.front();
    } else if (is_control_character(code) || is_invisible_character(code)) {
      append_json_escape(to, code);
    } else {
      to += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  to += '"';
}

}  // namespace peal
