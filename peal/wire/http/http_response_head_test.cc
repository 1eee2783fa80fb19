// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_response_head.h>

#include <gtest/gtest.h>

namespace peal {
namespace {

TEST(HttpResponseHead, fields_are_found_in_any_case_and_listed_in_order) {
  const HttpResponseHead head(
      "HTTP/1.1 404 Not  Found\r\nDate:now\r\nSet-Cookie: a=1\r\nset-cookie: \t b=2 \r\nX-Empty:\r\n\r\n");
  EXPECT_EQ(head.status(), 404);
  EXPECT_EQ(head.minor_version(), 1);
  EXPECT_EQ(head.reason(), "Not  Found");
  EXPECT_EQ(head.find("SET-COOKIE"), "a=1");
  EXPECT_EQ(head.find("date"), "now");
  EXPECT_EQ(head.find("x-empty"), "");
  EXPECT_EQ(head.find("Dat"), std::nullopt);
  std::string listed;
  std::string_view lines = head.field_lines();
  for (HttpField field; next_http_field(lines, field);)
    listed.append(field.name).append("=").append(field.value) += ';';
  EXPECT_EQ(listed, "Date=now;Set-Cookie=a=1;set-cookie=b=2;X-Empty=;");
}

TEST(HttpResponseHead, the_least_there_is) {
  for (const char* text : {"HTTP/1.0 200\r\n\r\n", "HTTP/1.0 200 \r\n\r\n"}) {
    const HttpResponseHead head(text);
    EXPECT_EQ(head.status(), 200);
    EXPECT_EQ(head.minor_version(), 0);
    EXPECT_EQ(head.reason(), "");
    EXPECT_EQ(head.field_lines(), "");
    EXPECT_EQ(head.find("Date"), std::nullopt);
  }
  const HttpResponseHead none;
  EXPECT_EQ(none.status(), 0);
  EXPECT_EQ(none.reason(), "");
  EXPECT_EQ(none.find("Date"), std::nullopt);
}

TEST(HttpResponseHead, it_moves_with_what_it_shows) {
  HttpResponseHead head("HTTP/1.1 200 OK\r\nA: b\r\n\r\n");
  const HttpResponseHead other = std::move(head);
  EXPECT_EQ(other.find("A"), "b");
}

}  // namespace
}  // namespace peal
