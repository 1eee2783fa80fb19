// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/utf8.h>

#include <cstddef>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

// Returns the position after the ASCII characters at the front. Reads up to 32 bytes at a time.
const char* skip_ascii(const char* at, const char* end) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  const auto word = [&](std::ptrdiff_t offset) { return detail::load_word<uint64_t>(at + offset); };
  while (end - at >= 32 && ((word(0) | word(8) | word(16) | word(24)) & kHighBits) == 0) at += 32;
  while (end - at >= 8 && (word(0) & kHighBits) == 0) at += 8;
  while (at < end && static_cast<unsigned char>(*at) < 0x80) ++at;
  return at;
}

}  // namespace

bool Utf8Checker::take(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  for (;;) {
    for (; missing_ > 0; --missing_) {
      if (at == end) return true;
      const auto byte = static_cast<uint8_t>(*at++);
      if (byte < least_ || byte > most_) return false;
      least_ = 0x80;
      most_ = 0xbf;
    }
    at = skip_ascii(at, end);
    if (at == end) return true;
    if (!begin_character(static_cast<uint8_t>(*at++))) return false;
  }
}

// Sets the number of bytes that follow the first byte of a character, and the range of its second byte (RFC 3629 4).
// The range excludes overlong forms, surrogates and characters beyond U+10FFFF.
bool Utf8Checker::begin_character(uint8_t lead) {
  least_ = 0x80;
  most_ = 0xbf;
  if (lead < 0xc2 || lead > 0xf4) return false;
  if (lead < 0xe0) {
    missing_ = 1;
  } else if (lead < 0xf0) {
    missing_ = 2;
    if (lead == 0xe0) least_ = 0xa0;
    if (lead == 0xed) most_ = 0x9f;
  } else {
    missing_ = 3;
    if (lead == 0xf0) least_ = 0x90;
    if (lead == 0xf4) most_ = 0x8f;
  }
  return true;
}

}  // namespace peal
