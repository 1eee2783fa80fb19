// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/cookies/http_cookies.h>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

std::string cookies_in(std::string_view field_value) {
  test::GuardedBytes guarded(field_value.size());
  std::string all;
  for (const HttpCookie& cookie : HttpCookies(guarded.hold(field_value))) {
    all.append("[").append(cookie.name).append("|").append(cookie.value).append("]");
  }
  return all;
}

TEST(HttpCookies, what_a_field_says) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"SID=31d4d96e407aad42; lang=en-US", "[SID|31d4d96e407aad42][lang|en-US]"},
      {"a=1;b=2", "[a|1][b|2]"},
      {"a=1;\t b = 2 ", "[a|1][b|2]"},
      {"a=", "[a|]"},
      {"a=b=c==", "[a|b=c==]"},
      {"a=1; a=2", "[a|1][a|2]"},
      {"A=1; a=2", "[A|1][a|2]"},
      {R"(a="b c")", R"([a|"b c"])"},                  // quotes belong to the value
      {R"(a="b; c=d"; e=f)", R"([a|"b][c|d"][e|f])"},  // a semicolon inside quotes ends the cookie
      {R"(a="\"; b=2)", R"([a|"\"][b|2])"},
      {"a=%20", "[a|%20]"},
      {"a=\xc3\xa4", "[a|\xc3\xa4]"},
      {"a=1,b=2", "[a|1,b=2]"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(cookies_in(text), expected) << text;
}

TEST(HttpCookies, what_is_passed_over) {
  EXPECT_EQ(cookies_in(""), "");
  EXPECT_EQ(cookies_in(";"), "");
  EXPECT_EQ(cookies_in(" ; ;; "), "");
  EXPECT_EQ(cookies_in("nameless; a=1"), "[a|1]");
  EXPECT_EQ(cookies_in("=nameless; a=1; ="), "[a|1]");
  EXPECT_EQ(cookies_in("$Version=1; a=1; $Path=/"),
            "[$Version|1][a|1][$Path|/]");  // names of RFC 2109, now ordinary
}

TEST(HttpCookies, the_first_of_a_name_is_found) {
  const HttpCookies cookies("a=1; session=x; session=y; sess=z");
  EXPECT_EQ(cookies.find("session"), "x");
  EXPECT_EQ(cookies.find("sess"), "z");
  EXPECT_EQ(cookies.find("Session"), std::nullopt);
  EXPECT_EQ(cookies.find(""), std::nullopt);
  EXPECT_EQ(HttpCookies("").find("a"), std::nullopt);
}

}  // namespace
}  // namespace peal
