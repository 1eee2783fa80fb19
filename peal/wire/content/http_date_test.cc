// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/http_date.h>

#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

constexpr int64_t kExample = 784111777;  // 1994-11-06 08:49:37
constexpr int64_t kNow = 1'700'000'000;  // 2023-11-14 22:13:20

std::string formatted(int64_t seconds) {
  const auto text = format_http_date(seconds);
  return {text.data(), text.size()};
}

// RFC 9110 5.6.7.
TEST(HttpDate, the_three_forms_of_the_standard) {
  EXPECT_EQ(formatted(kExample), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT", kNow), kExample);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", kNow), kExample);
  EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994", kNow), kExample);
  EXPECT_EQ(parse_http_date("Sun Nov 16 08:49:37 1994", kNow), kExample + 10 * 86400);
}

TEST(HttpDate, odd_days) {
  EXPECT_EQ(formatted(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(formatted(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
  EXPECT_EQ(formatted(951'782'400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(formatted(4'107'542'400), "Mon, 01 Mar 2100 00:00:00 GMT") << "2100 is no leap year";
  EXPECT_EQ(formatted(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(formatted(INT64_MIN), "Sat, 01 Jan 0000 00:00:00 GMT");
  EXPECT_EQ(parse_http_date("Fri, 31 Dec 9999 23:59:60 GMT", kNow), 253'402'300'800) << "a leap second";
}

TEST(HttpDate, agrees_with_the_c_library_and_comes_back) {
  for (int64_t seconds = -86'399; seconds < 8'000'000'000; seconds += 5'318'353) {
    const auto when = static_cast<time_t>(seconds);
    tm parts{};
    ASSERT_NE(gmtime_r(&when, &parts), nullptr);
    char text[64];
    ASSERT_EQ(strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts), kHttpDateBytes);
    ASSERT_EQ(formatted(seconds), text);
    ASSERT_EQ(parse_http_date(text, kNow), seconds);
    ASSERT_GT(strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &parts), 0U);
    ASSERT_EQ(parse_http_date(text, kNow), seconds);
  }
}

TEST(HttpDate, a_year_of_two_digits_is_never_more_than_fifty_ahead) {
  const auto year_of = [](std::string_view digits, int64_t now) {
    const auto seconds = parse_http_date("Monday, 01-Jan-" + std::string(digits) + " 00:00:00 GMT", now);
    return seconds ? formatted(*seconds).substr(12, 4) : "none";
  };
  EXPECT_EQ(year_of("23", kNow), "2023");
  EXPECT_EQ(year_of("73", kNow), "2073");
  EXPECT_EQ(year_of("74", kNow), "1974");
  EXPECT_EQ(year_of("00", kNow), "2000");
  const int64_t in_2060 = 2'840'140'800;
  EXPECT_EQ(year_of("10", in_2060), "2110");
  EXPECT_EQ(year_of("11", in_2060), "2011");
  EXPECT_EQ(year_of("60", in_2060), "2060");
  EXPECT_EQ(year_of("01", INT64_MAX), "9999") << "the far end of time";
}

TEST(HttpDate, what_is_no_date) {
  for (const std::string_view text : {
           "",
           "0",
           "now",
           "Sun, 06 Nov 1994 08:49:37",
           "Sun, 06 Nov 1994 08:49:37 UTC",
           "Sun, 06 Nov 1994 08:49:37 GMT ",
           " Sun, 06 Nov 1994 08:49:37 GMT",
           "sun, 06 Nov 1994 08:49:37 GMT",
           "Sun, 06 nov 1994 08:49:37 GMT",
           "Sun, 6 Nov 1994 08:49:37 GMT",
           "Sun, 00 Nov 1994 08:49:37 GMT",
           "Sun, 31 Nov 1994 08:49:37 GMT",
           "Sun, 29 Feb 1999 08:49:37 GMT",
           "Sun, 06 Nov 1994 24:00:00 GMT",
           "Sun, 06 Nov 1994 08:60:37 GMT",
           "Sun, 06 Nov 1994 08:49:61 GMT",
           "Son, 06 Nov 1994 08:49:37 GMT",
           "Sun, 06 Nov 94 08:49:37 GMT",
           "Sun, 06-Nov-94 08:49:37 GMT",
           "Sunday, 06-Nov-1994 08:49:37 GMT",
           "Sun Nov 6 08:49:37 1994",
           "Sun Nov  6 08:49:37 94",
           "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994",
           "Sun, +6 Nov 1994 08:49:37 GMT",
           "784111777",
       }) {
    EXPECT_FALSE(parse_http_date(text, kNow).has_value()) << text;
  }
}

TEST(HttpDate, no_beginning_of_a_date_is_one_nor_reads_past_its_end) {
  test::GuardedBytes guarded(100);
  for (const std::string_view text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    for (size_t size = 0; size < text.size(); ++size) {
      EXPECT_FALSE(parse_http_date(guarded.hold(text.substr(0, size)), kNow).has_value()) << size;
    }
  }
}

}  // namespace
}  // namespace peal
