// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/content_coding.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

using enum ContentCoding;

// Returns the name of the coding that is chosen if all three are available, for these Accept-Encoding fields.
std::string chosen(const std::vector<std::string_view>& fields) {
  AcceptedCodings accepted;
  for (const std::string_view field : fields) accepted.take(field);
  const auto coding = accepted.choose({kIdentity, kGzip, kZstd});
  return std::string(coding ? to_string(*coding) : "none");
}

// The examples of RFC 9110 12.5.3.
TEST(ContentCoding, examples_of_the_standard) {
  EXPECT_EQ(chosen({"compress, gzip"}), "gzip");
  EXPECT_EQ(chosen({""}), "identity");
  EXPECT_EQ(chosen({"*"}), "zstd");
  EXPECT_EQ(chosen({"compress;q=0.5, gzip;q=1.0"}), "gzip");
  EXPECT_EQ(chosen({"gzip;q=1.0, identity; q=0.5, *;q=0"}), "gzip");
}

TEST(ContentCoding, what_browsers_and_curl_send) {
  EXPECT_EQ(chosen({"gzip, deflate, br"}), "gzip");
  EXPECT_EQ(chosen({"gzip, deflate, br, zstd"}), "zstd");
  EXPECT_EQ(chosen({"deflate, gzip"}), "gzip");
  EXPECT_EQ(chosen({"br"}), "identity");
}

TEST(ContentCoding, without_a_field_nothing_is_coded) {
  EXPECT_EQ(chosen({}), "identity");
  EXPECT_FALSE(AcceptedCodings().any());
  EXPECT_EQ(AcceptedCodings().choose({kGzip}), kGzip) << "where there is nothing else";
}

TEST(ContentCoding, qualities_decide_and_of_equals_the_better) {
  EXPECT_EQ(chosen({"gzip;q=0.8, zstd;q=0.7"}), "gzip");
  EXPECT_EQ(chosen({"gzip;q=0.7, zstd;q=0.7"}), "zstd");
  EXPECT_EQ(chosen({"zstd;q=0.001"}), "zstd") << "identity unsaid comes last";
  EXPECT_EQ(chosen({"identity, gzip;q=0.5"}), "identity");
  EXPECT_EQ(chosen({"identity;q=0.5, gzip;q=0.500"}), "gzip");
  EXPECT_EQ(chosen({"*;q=0.5, zstd;q=0"}), "gzip");
  EXPECT_EQ(chosen({"gzip", "zstd"}), "zstd") << "two fields are one list";
  EXPECT_EQ(chosen({"X-GZIP"}), "gzip");
  EXPECT_EQ(chosen({"gzip ; Q=1 ,\tzstd\t;\tq=0.9"}), "gzip");
}

TEST(ContentCoding, what_is_excluded_is_never_chosen) {
  EXPECT_EQ(chosen({"gzip;q=0"}), "identity");
  EXPECT_EQ(chosen({"gzip;q=0.000, zstd;q=0"}), "identity");
  EXPECT_EQ(chosen({"identity;q=0"}), "none");
  EXPECT_EQ(chosen({"*;q=0"}), "none");
  EXPECT_EQ(chosen({"identity;q=0, gzip"}), "gzip");
  EXPECT_EQ(chosen({"*;q=0, identity;q=0.1"}), "identity");
  AcceptedCodings gzip_alone;
  gzip_alone.take("gzip, identity;q=0");
  EXPECT_EQ(gzip_alone.choose({kIdentity}), std::nullopt);
  EXPECT_EQ(gzip_alone.choose({kIdentity, kZstd}), std::nullopt);
  EXPECT_TRUE(gzip_alone.any());
}

TEST(ContentCoding, malformed_elements_are_passed_over) {
  for (const std::string_view field :
       {"gzip;q=2", "gzip;q=1.1", "gzip;q=0.1234", "gzip;q=", "gzip;q=-1", "gzip;q=.5", "gzip;q=0,5", "gzip;q=1.0001",
        "gzip;", "gzip;x=1", "gzip;q=1;x", "gzip;q=0.x", "gzip zstd", "\"gzip\"", ";q=1", ",,;", "gzip;q"}) {
    EXPECT_EQ(chosen({field}), "identity") << field;
  }
  EXPECT_EQ(chosen({"gzip;q=3, zstd;q=0.2"}), "zstd");
}

}  // namespace
}  // namespace peal
