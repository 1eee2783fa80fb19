// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/parts/sha1.h>

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace peal::detail {
namespace {

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char byte : sha1(bytes)) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// The examples of FIPS 180, and messages that end near the end of a block, with the digests that sha1sum prints.
TEST(Sha1, messages_with_known_digests) {
  EXPECT_EQ(hex_of(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex_of("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(hex_of(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  EXPECT_EQ(hex_of(std::string(55, 'x')), "cef734ba81a024479e09eb5a75b6ddae62e6abf1");
  EXPECT_EQ(hex_of(std::string(63, 'x')), "0ddc4e0cccd9a12850deb5abb0853a4425559fec");
  EXPECT_EQ(hex_of(std::string(64, 'x')), "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163");
  EXPECT_EQ(hex_of(std::string(65, 'x')), "78c741ddc482e4cdf8c474a0876347a0905b6233");
}

}  // namespace
}  // namespace peal::detail
