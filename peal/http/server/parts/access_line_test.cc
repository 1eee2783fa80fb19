// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/access_line.h>

#include <gtest/gtest.h>

#include <peal/base/printable.h>
#include <peal/wire/http/http_request_parser.h>

namespace peal::detail {
namespace {

using namespace std::string_view_literals;
using enum HttpAccessLogFormat;

// A head and the text that its views point to.
struct ParsedHead {
  explicit ParsedHead(std::string bytes) : text(std::move(bytes)) { parsed = parser.next(text, head).event; }

  std::string text;
  HttpLimits limits;
  HttpRequestParser parser{limits};
  HttpRequestHead head;
  HttpRequestEvent parsed{};
};

std::string line_of(HttpAccessLogFormat format, const AccessEntry& entry) {
  std::string line;
  append_access_line(line, format, entry);
  return line;
}

TEST(AccessLine, both_formats_write_their_own_date) {
  EXPECT_EQ(access_date(kCombined, 784'111'777), "06/Nov/1994:08:49:37 +0000");
  EXPECT_EQ(access_date(kJson, 784'111'777), "1994-11-06T08:49:37Z");
  EXPECT_EQ(access_date(kJson, 0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(access_date(kJson, 4'102'444'799), "2099-12-31T23:59:59Z");
}

TEST(AccessLine, json_has_the_members_in_one_order) {
  const ParsedHead request("GET /a?b=c HTTP/1.1\r\nHost: h\r\nReferer: http://r/\r\nUser-Agent: curl/8.0\r\n\r\n");
  ASSERT_EQ(request.parsed, HttpRequestEvent::kHead);
  const AccessEntry entry{.client = "127.0.0.1",
                          .date = "1994-11-06T08:49:37Z",
                          .head = &request.head,
                          .status = 200,
                          .body_bytes = 13,
                          .duration = std::chrono::nanoseconds(1'234'999),
                          .request_id = "0af7"};
  EXPECT_EQ(line_of(kJson, entry),
            R"({"time":"1994-11-06T08:49:37Z","client":"127.0.0.1","method":"GET","target":"/a?b=c",)"
            R"("version":"HTTP/1.1","status":200,"bytes":13,"duration_us":1234,"referer":"http://r/",)"
            R"("user_agent":"curl/8.0","request_id":"0af7"})"
            "\n");
  EXPECT_EQ(line_of(kCombined, {.client = "127.0.0.1", .date = "D", .head = &request.head, .status = 200}),
            "127.0.0.1 - - [D] \"GET /a?b=c HTTP/1.1\" 200 0 \"http://r/\" \"curl/8.0\"\n");
}

TEST(AccessLine, json_leaves_out_what_is_not_known) {
  EXPECT_EQ(line_of(kJson, {.client = "-", .date = "D", .status = 400, .body_bytes = 7}),
            "{\"time\":\"D\",\"status\":400,\"bytes\":7}\n");
  const ParsedHead request("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(line_of(kJson, {.client = "unix:", .date = "D", .head = &request.head, .status = 200}),
            R"({"time":"D","client":"unix:","method":"GET","target":"/","version":"HTTP/1.0","status":200,"bytes":0})"
            "\n");
}

TEST(AccessLine, a_hostile_client_adds_no_line_in_either_format) {
  // No parser lets all of these bytes through. The line must be harmless even if one did.
  constexpr std::string_view kHostile = "\"}\n{\0\\\r\x1b[2J\xFF\xC3\xC2\x9B\xE2\x80\xAE"sv;
  for (const HttpAccessLogFormat format : {kCombined, kJson}) {
    const ParsedHead request("GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: \"}\\\xFF\r\n\r\n");
    ASSERT_EQ(request.parsed, HttpRequestEvent::kHead);
    std::string line =
        line_of(format, {.client = "c", .date = "D", .head = &request.head, .status = 200, .request_id = kHostile});
    ASSERT_TRUE(line.ends_with('\n'));
    line.pop_back();
    EXPECT_TRUE(is_printable(line)) << line;
  }
}

}  // namespace
}  // namespace peal::detail
