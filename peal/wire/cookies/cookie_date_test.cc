// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/cookies/cookie_date.h>

#include <string>

#include <gtest/gtest.h>

#include <peal/wire/content/http_date.h>
#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

constexpr int64_t kMoment = 784'111'777;  // 1994-11-06 08:49:37

std::optional<int64_t> date_in(std::string_view text) {
  test::GuardedBytes guarded(text.size());
  return parse_cookie_date(guarded.hold(text));
}

TEST(CookieDate, one_moment_in_many_spellings) {
  for (const std::string_view text : {
           "Sun, 06 Nov 1994 08:49:37 GMT",
           "Sunday, 06-Nov-94 08:49:37 GMT",
           "Sun Nov  6 08:49:37 1994",
           "06 Nov 1994 8:49:37",
           "1994 08:49:37 6 november",
           "NOVEMBERISH 6th 94 08:49:37z",
           "08:49:37 06,nOv 1994",
           "Sun, 06 Nov 1994 08:49:37 +0900",  // time zones are ignored
           "\t06;Nov@1994[08:49:37{",
           "06x 1994y Nov 08:49:37:12",
       }) {
    EXPECT_EQ(date_in(text), kMoment) << text;
  }
}

TEST(CookieDate, years_of_two_digits) {
  EXPECT_EQ(date_in("1 Jan 70 0:0:0"), 0);
  EXPECT_EQ(date_in("1 Jan 1970 0:0:0"), 0);
  EXPECT_EQ(date_in("31 Dec 69 23:59:59"), date_in("31 Dec 2069 23:59:59"));
  EXPECT_EQ(date_in("31 Dec 99 23:59:59"), date_in("31 Dec 1999 23:59:59"));
  EXPECT_EQ(date_in("1 Jan 00 0:0:0"), date_in("1 Jan 2000 0:0:0"));
}

TEST(CookieDate, what_is_no_date) {
  for (const std::string_view text : {
           "",
           "Sun",
           "06 Nov 1994",
           "Nov 1994 08:49:37",
           "06 1994 08:49:37",
           "06 Nov 08:49:37",
           "00 Nov 1994 08:49:37",
           "32 Nov 1994 08:49:37",
           "31 Nov 1994 08:49:37",
           "29 Feb 2023 08:49:37",
           "06 Nov 1600 08:49:37",
           "06 Nov 1994 24:00:00",
           "06 Nov 1994 08:60:37",
           "06 Nov 1994 08:49:60",
           "06 Nov 1994 08:49",
           "06 Nov 1994 008:49:37",
           "06 Nov 1994 08:049:37",
           "06 Nov 19945 08:49:37",
           "006 Nov 994 08:49:37",
           "06 No 1994 08:49:37",
           "06 Nov 100 08:49:37",
       }) {
    EXPECT_EQ(date_in(text), std::nullopt) << text;
  }
}

TEST(CookieDate, what_a_server_writes_is_read) {
  for (const int64_t moment : {int64_t{0}, kMoment, int64_t{951'782'399}, int64_t{4'102'444'800}}) {
    const auto text = format_http_date(moment);
    EXPECT_EQ(date_in({text.data(), text.size()}), moment);
  }
}

TEST(CookieDate, a_long_text_is_read_once) {
  EXPECT_EQ(date_in(std::string(1'000'000, '1')), std::nullopt);
  std::string blanks(1'000'000, ' ');
  EXPECT_EQ(date_in(blanks + "06 Nov 1994 08:49:37"), kMoment);
}

}  // namespace
}  // namespace peal
