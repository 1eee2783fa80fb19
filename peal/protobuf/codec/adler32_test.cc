// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/adler32.h>

#include <zlib.h>

#include <string>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

std::string patterned(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(31 * i + i / 256);
  return bytes;
}

uint32_t zlib_says(std::string_view bytes) {
  return static_cast<uint32_t>(::adler32_z(1, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

TEST(Adler32, is_that_of_rfc_1950) {
  EXPECT_EQ(adler32_of(""), 1U);
  EXPECT_EQ(adler32_of("a"), 0x00620062U);
  EXPECT_EQ(adler32_of("Wikipedia"), 0x11e60398U);
  EXPECT_EQ(adler32_of(std::string_view()), kAdler32OfNothing);
  EXPECT_EQ(adler32_of(std::string_view(), 5), 5U) << "nothing follows";
}

TEST(Adler32, agrees_with_zlib_at_every_length) {
  const std::string bytes = patterned(70'000);
  test::GuardedBytes guarded(bytes.size());
  for (size_t size = 1; size <= 600; ++size) {
    EXPECT_EQ(adler32_of(guarded.hold({bytes.data() + size, size})), zlib_says({bytes.data() + size, size})) << size;
  }
  for (const size_t size : {5551U, 5552U, 5553U, 65'536U, 70'000U}) {
    EXPECT_EQ(adler32_of(guarded.hold({bytes.data(), size})), zlib_says({bytes.data(), size})) << size;
  }
  const std::string ones(70'000, '\xff');
  EXPECT_EQ(adler32_of(ones), zlib_says(ones));
}

TEST(Adler32, goes_on_from_what_stands_before) {
  const std::string bytes = patterned(300);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(adler32_of(bytes.substr(cut), adler32_of(bytes.substr(0, cut))), zlib_says(bytes)) << cut;
  }
}

}  // namespace
}  // namespace peal
