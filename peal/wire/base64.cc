// SPDX-License-Identifier: BSD-3-Clause
// Base64 writes three bytes as four letters of six bits each.
#include <peal/wire/base64.h>

#include <array>
#include <cstdint>

namespace peal {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoLetter = 64;

// Maps each byte to the six bits that it stands for as a letter of base64, or to kNoLetter if it is no such letter.
constexpr std::array<std::uint8_t, 256> kSextets = [] {
  std::array<std::uint8_t, 256> sextets;
  sextets.fill(kNoLetter);
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    sextets[static_cast<std::uint8_t>(kLetters[i])] = static_cast<std::uint8_t>(i);
  }
  return sextets;
}();

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<std::uint8_t>(group[k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= group.size() ? kLetters[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int held = 0;  // how many low bits of `bits` are not yet written to `bytes`
  for (const char letter : text) {
    const std::uint8_t sextet = kSextets[static_cast<std::uint8_t>(letter)];
    if (sextet == kNoLetter) return std::nullopt;
    bits = bits << 6 | sextet;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  if ((bits & ((1u << held) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace peal
