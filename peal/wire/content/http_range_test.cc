// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/http_range.h>

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using RangeAnswer = HttpRanges::Answer;
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

// Returns the ranges as "first+bytes first+bytes", or the name of another answer.
std::string read(std::string_view value, uint64_t total) {
  HttpRanges ranges;
  switch (ranges.read(value, total)) {
    case RangeAnswer::kWhole: return "whole";
    case RangeAnswer::kUnsatisfiable: return "unsatisfiable";
    case RangeAnswer::kPartial: break;
  }
  std::string text;
  for (const HttpByteRange& range : ranges.all()) {
    text += (text.empty() ? "" : " ") + std::to_string(range.first) + "+" + std::to_string(range.bytes);
  }
  return text;
}

// The examples of RFC 9110 14.1.2 for a representation of 10000 bytes.
TEST(HttpRange, examples_of_the_standard) {
  EXPECT_EQ(read("bytes=0-499", 10000), "0+500");
  EXPECT_EQ(read("bytes=500-999", 10000), "500+500");
  EXPECT_EQ(read("bytes=-500", 10000), "9500+500");
  EXPECT_EQ(read("bytes=9500-", 10000), "9500+500");
  EXPECT_EQ(read("bytes=0-0,-1", 10000), "0+1 9999+1");
  EXPECT_EQ(read("bytes= 0-999, 4500-5499, -1000", 10000), "0+1000 4500+1000 9000+1000");
  EXPECT_EQ(read("bytes=500-600,601-999", 10000), "500+101 601+399");
  EXPECT_EQ(read("bytes=500-700,601-999", 10000), "500+201 601+399") << "they may overlap";
}

TEST(HttpRange, ends_are_cut_to_what_there_is) {
  EXPECT_EQ(read("bytes=0-", 10), "0+10");
  EXPECT_EQ(read("bytes=0-9", 10), "0+10");
  EXPECT_EQ(read("bytes=0-10", 10), "0+10");
  EXPECT_EQ(read("bytes=9-99999999999999999999999", 10), "9+1");
  EXPECT_EQ(read("bytes=-10", 10), "0+10");
  EXPECT_EQ(read("bytes=-11", 10), "0+10");
  EXPECT_EQ(read("bytes=-99999999999999999999999", 10), "0+10");
  EXPECT_EQ(read("bytes=18446744073709551614-18446744073709551615", kMost), "18446744073709551614+1");
  EXPECT_EQ(read("BYTES=1-1", 10), "1+1") << "a range unit has no case";
  EXPECT_EQ(read("bytes=,1-1, ,", 10), "1+1") << "empty elements";
}

TEST(HttpRange, outside_is_unsatisfiable_unless_one_is_inside) {
  EXPECT_EQ(read("bytes=10-", 10), "unsatisfiable");
  EXPECT_EQ(read("bytes=10-20,30-", 10), "unsatisfiable");
  EXPECT_EQ(read("bytes=-0", 10), "unsatisfiable");
  EXPECT_EQ(read("bytes=99999999999999999999999-", 10), "unsatisfiable");
  EXPECT_EQ(read("bytes=10-20,3-4,-0", 10), "3+2");
  EXPECT_EQ(read("bytes=0-", 0), "whole") << "of nothing there is no part";
  EXPECT_EQ(read("bytes=-5", 0), "whole");
}

TEST(HttpRange, what_is_malformed_or_of_another_unit_is_ignored) {
  for (const std::string_view value : {
           "",
           "bytes",
           "bytes=",
           "bytes=,",
           "bytes=-",
           "bytes=1",
           "bytes=a-b",
           "bytes=1-b",
           "bytes=a-1",
           "bytes=2-1",
           "bytes=1-2-3",
           "bytes=--1",
           "bytes=+1-2",
           "bytes=1 -2",
           "bytes=0x1-2",
           "bytes=0-1,x",
           "bytes=0-1;2-3",
           "bytes:0-1",
           "seconds=0-1",
           " bytes=0-1",
           "bytes =0-1",
           "0-1",
           "bytes=-1-2",
       }) {
    EXPECT_EQ(read(value, 10), "whole") << value;
  }
}

TEST(HttpRange, nobody_gets_more_than_the_whole_or_very_many_parts) {
  EXPECT_EQ(read("bytes=0-5,5-8", 10), "0+6 5+4");
  EXPECT_EQ(read("bytes=0-5,5-9", 10), "whole");
  EXPECT_EQ(read("bytes=0-,0-,0-", 10), "whole");
  std::string many = "bytes=0-0";
  for (size_t at = 1; at < kHttpRangesMax; ++at) many += "," + std::to_string(2 * at) + "-" + std::to_string(2 * at);
  HttpRanges ranges;
  EXPECT_EQ(ranges.read(many, 1000), RangeAnswer::kPartial);
  EXPECT_EQ(ranges.all().size(), kHttpRangesMax);
  EXPECT_EQ(ranges.read(many + ",500-501", 1000), RangeAnswer::kWhole);
  EXPECT_TRUE(ranges.read("bytes=1-1", 1000) == RangeAnswer::kPartial && ranges.all().size() == 1) << "read again";
}

TEST(HttpRange, content_range) {
  EXPECT_EQ(http_content_range({42, 1192}, 1234), "bytes 42-1233/1234");
  EXPECT_EQ(http_content_range(1234), "bytes */1234");
  EXPECT_EQ(http_content_range({kMost - 2, 1}, kMost),
            "bytes 18446744073709551613-18446744073709551613/18446744073709551615");
}

TEST(HttpRange, no_beginning_of_a_field_is_read_past_its_end) {
  test::GuardedBytes guarded(100);
  constexpr std::string_view kText = "bytes=0-999, 4500-5499, -1000";
  for (size_t size = 0; size <= kText.size(); ++size) read(guarded.hold(kText.substr(0, size)), 10000);
}

// Returns "first bytes total" with "-" for an unknown number, or "none" if the value is malformed.
std::string content_range(std::string_view value) {
  const auto parts = parse_http_content_range(value);
  if (!parts) return "none";
  const auto total = parts->total_bytes ? std::to_string(*parts->total_bytes) : "-";
  if (!parts->range) return "- " + total;
  return std::to_string(parts->range->first) + " " + std::to_string(parts->range->bytes) + " " + total;
}

TEST(HttpContentRangeParts, what_servers_say_and_what_they_must_not) {
  EXPECT_EQ(content_range("bytes 42-1233/1234"), "42 1192 1234");
  EXPECT_EQ(content_range("Bytes 0-0/*"), "0 1 -");
  EXPECT_EQ(content_range("bytes */1234"), "- 1234");
  EXPECT_EQ(content_range(http_content_range({5, 10}, 20)), "5 10 20");
  EXPECT_EQ(content_range("bytes 0-18446744073709551613/18446744073709551614"),
            "0 18446744073709551614 18446744073709551614");
  for (const char* odd : {"",
                          "bytes",
                          "bytes ",
                          "bytes /",
                          "bytes */*",
                          "bytes 1-2",
                          "bytes=1-2/3",
                          "bytes 2-1/3",
                          "bytes 0-3/3",
                          "bytes -1/3",
                          "bytes 1-/3",
                          "bytes 1/3",
                          "bytes 0-1/3 ",
                          "bytes 0-1/3/4",
                          "bytes 0 - 1/3",
                          "bytes +0-1/3",
                          "lines 0-1/3",
                          "bytes 0-1/-3",
                          "bytes 0-18446744073709551616/*",
                          "bytes 0-1/99999999999999999999"}) {
    EXPECT_EQ(content_range(odd), "none") << odd;
  }
}

}  // namespace
}  // namespace peal
