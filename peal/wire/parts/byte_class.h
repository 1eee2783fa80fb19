// SPDX-License-Identifier: BSD-3-Clause
// ByteClass is a set of ASCII bytes, stored as a table for vector instructions that look up 16 or 32 bytes at once. The
// table has a row for each value of a byte's lower four bits. In the row there is a bit for each value of the upper
// four. The constants below are the sets that the grammar of HTTP needs (RFC 9110 5.6). Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace peal::detail {

struct alignas(32) ByteClass {
  // The table: bit u of rows[l] is set if the byte with the upper four bits u and the lower four bits l is in the set.
  // The sixteen rows stand here twice, because AVX2 needs them in both halves of its vector.
  std::array<uint8_t, 32> rows{};

  // Returns true if `byte` is in the set. Bytes from 0x80 on are in no set.
  constexpr bool contains(char byte) const {
    const auto value = static_cast<unsigned char>(byte);
    return value < 0x80 && (rows[value & 0xf] >> (value >> 4) & 1) != 0;
  }

  // Returns a copy of this set with these bytes added.
  constexpr ByteClass with(std::string_view bytes) const {
    ByteClass result = *this;
    for (const char byte : bytes) result.set(byte, true);
    return result;
  }

  // Returns a copy of this set with these bytes removed.
  constexpr ByteClass without(std::string_view bytes) const {
    ByteClass result = *this;
    for (const char byte : bytes) result.set(byte, false);
    return result;
  }

  // Returns the set of the bytes from `first` to `last`, both included. `last` must be below 0x80.
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

// The bytes of a token (tchar in RFC 9110 5.6.2).
inline constexpr ByteClass kTokenBytes = ByteClass().with(kLettersAndDigits).with("!#$%&'*+-.^_`|~");

// The bytes that no line of a head may contain: all control characters, with DEL, except HTAB. The bytes from 0x80 on
// (obs-text) are allowed (RFC 9110 5.5).
inline constexpr ByteClass kControlBytes = ByteClass::range(0, 0x1f).without("\t").with("\x7f");

// The bytes of a request target: those of a URI (RFC 3986 2) except '#', which a target must not contain (RFC 9112
// 3.2). By RFC 3986 brackets belong to IPv6 addresses only, but they are allowed everywhere: many form libraries send
// `a[]=1`.
inline constexpr ByteClass kTargetBytes = ByteClass().with(kLettersAndDigits).with("-._~:/?[]@!$&'()*+,;=%");

// The bytes of the path in a request target, which ends at '?'.
inline constexpr ByteClass kPathBytes = kTargetBytes.without("?");

// The bytes of a host name or an IPv4 address: unreserved and sub-delims (RFC 3986 3.2.2). Percent-escapes and the
// brackets of IPv6 addresses are checked separately (http_target.h).
inline constexpr ByteClass kHostBytes = ByteClass().with(kLettersAndDigits).with("-._~!$&'()*+,;=");

}  // namespace peal::detail
