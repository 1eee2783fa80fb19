// SPDX-License-Identifier: BSD-3-Clause
// Conditions and ranges, asked over a connection.
#include <string>

#include <tests/support/http/http_files_rig.h>

namespace peal {
namespace {

using test::HttpAnswer;

class StaticFilesCondition : public test::HttpFilesTest {
 protected:
  void SetUp() override {
    HttpFilesTest::SetUp();
    if (IsSkipped()) return;
    write("small", kDigits);
    write("large", large_);
    age("small", -100);
    age("large", -100);
    serve_files({.cache_control = "no-cache"});
  }
  static constexpr std::string_view kDigits = "0123456789";
  const std::string large_ = pattern(200'000);
  static constexpr const char* kLongAgo = "Sun, 06 Nov 1994 08:49:37 GMT";
};
PEAL_TEST_ON_EVERY_PORT_AND_SIM(StaticFilesCondition);

TEST_P(StaticFilesCondition, not_modified) {
  const HttpAnswer first = get("/small");
  const std::string tag = first.field("ETag");
  const std::string date = first.field("Last-Modified");
  for (const std::string& fields :
       {"If-None-Match: " + tag, "If-None-Match: W/" + tag, "If-None-Match: \"a\", " + tag,
        std::string("If-None-Match: *"), "If-Modified-Since: " + date, "If-None-Match: \"a\"\r\nIf-None-Match: " + tag,
        "If-None-Match: " + tag + "\r\nIf-Modified-Since: " + kLongAgo, "Range: bytes=0-1\r\nIf-None-Match: " + tag}) {
    const HttpAnswer answer = get("/small", fields + "\r\n");
    EXPECT_EQ(answer.status, 304) << fields;
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(answer.field("ETag"), tag);
    EXPECT_EQ(answer.field("Cache-Control"), "no-cache");
    EXPECT_FALSE(answer.has("Content-Length")) << "none, or that of 200 (RFC 9110 8.6): " << answer.head;
    EXPECT_FALSE(answer.has("Content-Type") || answer.has("Content-Range"));
    EXPECT_EQ(ask("HEAD", "/small", fields + "\r\n").status, 304) << fields;
  }
}

TEST_P(StaticFilesCondition, modified) {
  const std::string date = get("/small").field("Last-Modified");
  for (const std::string& fields :
       {std::string("If-None-Match: \"a\""), "If-None-Match: \"a\"\r\nIf-Modified-Since: " + date,
        std::string("If-Modified-Since: ") + kLongAgo, std::string("If-Modified-Since: whenever"),
        "If-Unmodified-Since: " + date, std::string("If-Match: *")}) {
    EXPECT_EQ(get("/small", fields + "\r\n").body, kDigits) << fields;
  }
}

TEST_P(StaticFilesCondition, failed) {
  const std::string tag = get("/small").field("ETag");
  for (const std::string& fields :
       {std::string("If-Match: \"a\""), "If-Match: W/" + tag, std::string("If-Unmodified-Since: ") + kLongAgo,
        "If-Match: \"a\"\r\nIf-None-Match: " + tag}) {
    EXPECT_EQ(get("/small", fields + "\r\n").status, 412) << fields;
  }
}

TEST_P(StaticFilesCondition, one_range) {
  struct Row {
    const char* range;
    size_t first, bytes;
  };
  for (const Row row :
       {Row{"0-0", 0, 1}, {"2-4", 2, 3}, {"5-", 5, 0}, {"-3", 0, 3}, {"0-", 0, 0}, {"1-999999", 1, 0}}) {
    for (const std::string& content : {std::string(kDigits), large_}) {
      const bool small = content.size() == kDigits.size();
      const size_t bytes = row.bytes == 0 ? content.size() - row.first : row.bytes;
      const size_t first = *row.range == '-' ? content.size() - bytes : row.first;
      const HttpAnswer answer = get(small ? "/small" : "/large", std::string("Range: bytes=") + row.range + "\r\n");
      EXPECT_EQ(answer.status, 206) << row.range;
      EXPECT_TRUE(same_bytes(answer.body, content.substr(first, bytes))) << row.range;
      EXPECT_EQ(answer.field("Content-Range"), "bytes " + std::to_string(first) + "-" +
                                                   std::to_string(first + bytes - 1) + "/" +
                                                   std::to_string(content.size()));
      EXPECT_EQ(answer.field("Content-Length"), std::to_string(bytes));
      EXPECT_TRUE(answer.has("ETag") && answer.has("Last-Modified"));
    }
  }
}

TEST_P(StaticFilesCondition, several_ranges_are_parts) {
  for (const std::string& content : {std::string(kDigits), large_}) {
    const bool small = content.size() == kDigits.size();
    const HttpAnswer answer = get(small ? "/small" : "/large", "Range: bytes=1-2, 4-6,-1\r\n");
    EXPECT_EQ(answer.status, 206);
    EXPECT_TRUE(answer.complete);
    EXPECT_FALSE(answer.has("Content-Range"));
    const std::string type = answer.field("Content-Type");
    ASSERT_TRUE(type.starts_with("multipart/byteranges; boundary=")) << type;
    const std::string boundary = type.substr(type.find('=') + 1);
    const std::string total = std::to_string(content.size());
    const auto part = [&](size_t first, size_t bytes) {
      return "--" + boundary + "\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes " +
             std::to_string(first) + "-" + std::to_string(first + bytes - 1) + "/" + total + "\r\n\r\n" +
             content.substr(first, bytes) + "\r\n";
    };
    EXPECT_EQ(answer.body, part(1, 2) + part(4, 3) + part(content.size() - 1, 1) + "--" + boundary + "--\r\n");
    EXPECT_EQ(answer.field("Content-Length"), std::to_string(answer.body.size()));
    EXPECT_NE(get("/small", "Range: bytes=1-2,4-6\r\n").field("Content-Type"), type) << "the boundary can be foreseen";
  }
}

TEST_P(StaticFilesCondition, ranges_that_are_not_honoured) {
  const HttpAnswer beyond = get("/small", "Range: bytes=10-\r\n");
  EXPECT_EQ(beyond.status, 416);
  EXPECT_EQ(beyond.field("Content-Range"), "bytes */10");
  for (const char* fields : {"Range: bytes=5-2\r\n", "Range: lines=1-2\r\n", "Range: bytes=0-,0-\r\n",
                             "Range: bytes=1-2\r\nRange: bytes=3-4\r\n", "Range: bytes=1-2\r\nIf-Range: \"a\"\r\n"}) {
    const HttpAnswer answer = get("/small", fields);
    EXPECT_EQ(answer.status, 200) << fields;
    EXPECT_EQ(answer.body, kDigits);
    EXPECT_FALSE(answer.has("Content-Range"));
  }
  const HttpAnswer head = ask("HEAD", "/small", "Range: bytes=1-2\r\n");
  EXPECT_EQ(head.status, 200) << "ranges are defined for GET (RFC 9110 14.2)";
  EXPECT_EQ(head.field("Content-Length"), "10");
}

TEST_P(StaticFilesCondition, a_range_of_what_the_client_has) {
  const HttpAnswer first = get("/small");
  for (const char* name : {"ETag", "Last-Modified"}) {
    const std::string fields = "Range: bytes=1-2\r\nIf-Range: " + first.field(name) + "\r\n";
    EXPECT_EQ(get("/small", fields).body, "12") << name;
  }
  write("small", "9876543210");
  const HttpAnswer changed = get("/small", "Range: bytes=1-2\r\nIf-Range: " + first.field("ETag") + "\r\n");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.body, "9876543210");
}

}  // namespace
}  // namespace peal
