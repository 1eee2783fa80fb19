// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/printable.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace peal {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};
// The characters for which is_invisible_character() is true, sorted by code.
constexpr std::array kInvisible = std::to_array<CodeRange>({
    {0xad, 0xad},
    {0x34f, 0x34f},
    {0x61c, 0x61c},
    {0x115f, 0x1160},
    {0x17b4, 0x17b5},
    {0x180b, 0x180f},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0x3164, 0x3164},
    {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},
    {0xfff0, 0xfff8},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
});

// True if a character with this code is not escaped.
bool is_shown_as_is(char32_t code, PrintableAs kind) {
  if (kind == PrintableAs::kQuoted) return code >= ' ' && code <= '~' && code != '"' && code != '\\';
  if (code == '\n') return kind == PrintableAs::kLines;
  return code != kNoCharacter && !is_control_character(code) && !is_invisible_character(code);
}

// Returns the number of bytes at the beginning of `text` that need no escape.
size_t printable_bytes(std::string_view text, PrintableAs kind) {
  size_t at = 0;
  while (at < text.size()) {
    const TextCharacter next = first_character(text.substr(at));
    if (!is_shown_as_is(next.code, kind)) break;
    at += next.bytes;
  }
  return at;
}

}  // namespace

TextCharacter first_character(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  constexpr TextCharacter kNone{kNoCharacter, 1};
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return kNone;
  char32_t code = lead & (0xffU >> (bytes + 1));
  for (size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return kNone;
    code = code << 6 | (byte(at) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast.at(bytes) || code > 0x10ffff || surrogate) return kNone;
  return {code, bytes};
}

bool is_control_character(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

bool is_invisible_character(char32_t code) {
  const auto found = std::ranges::lower_bound(kInvisible, code, {}, &CodeRange::last);
  return found != kInvisible.end() && found->first <= code;
}

bool is_printable(std::string_view text, PrintableAs kind) { return printable_bytes(text, kind) == text.size(); }

void append_printable(std::string& to, std::string_view text, PrintableAs kind) {
  while (!text.empty()) {
    const size_t plain = printable_bytes(text, kind);
    to.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const size_t bytes = first_character(text).bytes;
    for (const char byte : text.substr(0, bytes)) {
      to += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
    }
    text.remove_prefix(bytes);
  }
}

std::string printable(std::string_view text, PrintableAs kind) {
  std::string plain;
  append_printable(plain, text, kind);
  return plain;
}

}  // namespace peal
