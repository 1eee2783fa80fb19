// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_request_text.h>

#include <gtest/gtest.h>

namespace peal {
namespace {

using std::string_literals::operator""s;

TEST(HttpRequestText, a_get) {
  EXPECT_EQ(compose_http_request({.target = "/a?b=c", .host = "h:8080"}).value(),
            "GET /a?b=c HTTP/1.1\r\nHost: h:8080\r\n\r\n");
}

TEST(HttpRequestText, a_post_with_fields_and_any_bytes_as_its_body) {
  const HttpRequest request{.method = "POST",
                            .target = "/",
                            .host = "h",
                            .fields = {{"Content-Type", "text/plain"}, {"X-Empty", ""}, {"Accept", "*/*"}},
                            .body = "a\r\n\0b"s};
  EXPECT_EQ(compose_http_request(request).value(),
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nX-Empty: \r\nAccept: */*\r\n"
            "Content-Length: 5\r\n\r\na\r\n\0b"s);
}

TEST(HttpRequestText, a_length_is_told_where_a_body_is_expected) {
  for (const char* method : {"POST", "PUT", "PATCH"}) {
    EXPECT_TRUE(compose_http_request({.method = method})->contains("Content-Length: 0\r\n")) << method;
  }
  for (const char* method : {"GET", "HEAD", "DELETE", "OPTIONS"}) {
    EXPECT_FALSE(compose_http_request({.method = method})->contains("Content-Length")) << method;
  }
  EXPECT_TRUE(compose_http_request({.method = "DELETE", .body = "x"})->contains("Content-Length: 1\r\n"));
}

TEST(HttpRequestText, a_host_among_the_fields_replaces_the_host_and_comes_first) {
  EXPECT_EQ(compose_http_request({.host = "h", .fields = {{"A", "b"}, {"hOST", "other"}}}).value(),
            "GET / HTTP/1.1\r\nhOST: other\r\nA: b\r\n\r\n");
}

TEST(HttpRequestText, other_forms_of_target) {
  EXPECT_TRUE(compose_http_request({.method = "OPTIONS", .target = "*"})->starts_with("OPTIONS * HTTP/1.1\r\n"));
  EXPECT_TRUE(compose_http_request({.target = "http://h/a"})->starts_with("GET http://h/a HTTP/1.1\r\n"));
}

TEST(HttpRequestText, what_is_refused_and_why) {
  const std::pair<HttpRequest, std::string_view> cases[] = {
      {{.method = ""}, "is not a method"},
      {{.method = "GET /x"}, "is not a method"},
      {{.method = "GET\r\n"}, "is not a method"},
      {{.target = ""}, "target is empty"},
      {{.target = "/ HTTP/1.1"}, "byte 2 of the target is 0x20"},
      {{.target = "/\r\nX: y"}, "byte 2 of the target is 0x0d"},
      {{.target = "/\0"s}, "byte 2 of the target is 0x00"},
      {{.target = "/\xc3\xa4"}, "byte 2 of the target is 0xc3"},
      {{.host = "h\r\nX: y"}, "the host has a control"},
      {{.host = "h\0"s}, "the host has a control"},
      {{.fields = {{"", "x"}}}, "not a header's name"},
      {{.fields = {{"A b", "x"}}}, "not a header's name"},
      {{.fields = {{"A:", "x"}}}, "not a header's name"},
      {{.fields = {{"A\r\nB", "x"}}}, "not a header's name"},
      {{.fields = {{"A", "x\r\nB: y"}}}, "value of A has a line end"},
      {{.fields = {{"A", "x\ny"}}}, "value of A has a line end"},
      {{.fields = {{"A", "x\ry"}}}, "value of A has a line end"},
      {{.fields = {{"A", "x\0y"s}}}, "value of A has a line end"},
      {{.fields = {{"A", "x\x7f"}}}, "value of A has a line end"},
      {{.fields = {{"Host", "a"}, {"host", "b"}}}, "Host is given twice"},
      {{.fields = {{"content-length", "1"}}}, "set from the body"},
      {{.fields = {{"Transfer-Encoding", "chunked"}}}, "set from the body"},
  };
  for (const auto& [request, reason] : cases) {
    const auto text = compose_http_request(request);
    ASSERT_FALSE(text.has_value()) << reason << "\n" << *text;
    EXPECT_TRUE(text.error().contains(reason)) << text.error();
  }
}

TEST(HttpRequestText, tabs_and_bytes_beyond_ascii_are_values) {
  EXPECT_TRUE(compose_http_request({.fields = {{"A", "x\ty\xff"}}})->contains("A: x\ty\xff\r\n"));
}

TEST(HttpRequestText, a_body_that_follows_is_announced) {
  EXPECT_EQ(compose_http_request({.method = "PUT", .host = "h", .following_bytes = 70000}).value(),
            "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 70000\r\n\r\n");
  EXPECT_EQ(compose_http_request({.method = "POST", .host = "h", .chunked_follows = true}).value(),
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(compose_http_request({.host = "h", .following_bytes = 0}).value(),
            "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(compose_http_request({.body = "x", .chunked_follows = true}).error(), "there is more than one body");
  EXPECT_EQ(compose_http_request({.following_bytes = 1, .chunked_follows = true}).error(),
            "there is more than one body");
}

}  // namespace
}  // namespace peal
