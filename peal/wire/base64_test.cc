// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/base64.h>

#include <gtest/gtest.h>

namespace peal {
namespace {

TEST(Base64, the_vectors_of_rfc_4648) {
  constexpr std::pair<std::string_view, std::string_view> kVectors[] = {{"", ""},
                                                                        {"f", "Zg=="},
                                                                        {"fo", "Zm8="},
                                                                        {"foo", "Zm9v"},
                                                                        {"foob", "Zm9vYg=="},
                                                                        {"fooba", "Zm9vYmE="},
                                                                        {"foobar", "Zm9vYmFy"},
                                                                        {"\xfb\xff\xbf", "+/+/"}};
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
}

TEST(Base64, every_byte_at_every_position_comes_back) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t size = 1; size <= 4; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        std::string bytes(size, '\x5a');
        bytes[at] = static_cast<char>(byte);
        EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
      }
    }
  }
}

TEST(Base64, what_no_encoder_writes_is_refused) {
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zm9vY", "Zh==", "Zm9=", "Zg==Zg==", "====", "=",
                                      "Z===", "Zm 9", "Zm9v\n", "Zm-_", "Zm9v=", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace peal
