// SPDX-License-Identifier: BSD-3-Clause
// ByteClass: a set of ASCII bytes in the form that a vector instruction can look sixteen bytes up in at once: a row for
// each lower half of a byte, with a bit for each upper half. The sets that HTTP's grammar needs (RFC 9110 5.6).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace peal::detail {

struct alignas(32) ByteClass {
  std::array<uint8_t, 32> rows{};  // the sixteen rows, and once more for what looks 32 bytes up

  constexpr bool contains(char byte) const {
    const auto value = static_cast<unsigned char>(byte);
    return value < 0x80 && (rows[value & 0xf] >> (value >> 4) & 1) != 0;
  }
  constexpr ByteClass with(std::string_view bytes) const {
    ByteClass result = *this;
    for (const char byte : bytes) result.set(byte, true);
    return result;
  }
  constexpr ByteClass without(std::string_view bytes) const {
    ByteClass result = *this;
    for (const char byte : bytes) result.set(byte, false);
    return result;
  }
  static constexpr ByteClass range(unsigned char first, unsigned char last) {
    ByteClass result;
    for (unsigned byte = first; byte <= last; ++byte) result.set(static_cast<char>(byte), true);
    return result;
  }

 private:
  constexpr void set(char byte, bool on) {
    const auto value = static_cast<unsigned char>(byte);
    const unsigned bit = 1U << (value >> 4);
    for (const size_t row : {value & 0xfU, (value & 0xfU) + 16}) {
      rows[row] = static_cast<uint8_t>(on ? rows[row] | bit : rows[row] & ~bit);
    }
  }
};

inline constexpr std::string_view kLettersAndDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
// tchar.
inline constexpr ByteClass kTokenBytes = ByteClass().with(kLettersAndDigits).with("!#$%&'*+-.^_`|~");
// What no line of a head may hold: every CTL but HTAB. obs-text, from 0x80 on, is let through (RFC 9110 5.5).
inline constexpr ByteClass kControlBytes = ByteClass::range(0, 0x1f).without("\t").with("\x7f");
// What a URI is made of (RFC 3986 2), but for '#', which no target has (RFC 9112 3.2); a path has no '?' either. The
// brackets are in it, though by the letter they belong to an address: every form library sends `a[]=1`.
inline constexpr ByteClass kTargetBytes = ByteClass().with(kLettersAndDigits).with("-._~:/?[]@!$&'()*+,;=%");
inline constexpr ByteClass kPathBytes = kTargetBytes.without("?");
// A host's name or IPv4 address: unreserved and sub-delims (RFC 3986 3.2.2); escapes and brackets are looked at closer.
inline constexpr ByteClass kHostBytes = ByteClass().with(kLettersAndDigits).with("-._~!$&'()*+,;=");

}  // namespace peal::detail
