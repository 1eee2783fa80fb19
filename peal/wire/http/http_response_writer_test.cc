// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_response_writer.h>

#include <array>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/wire/http/http_chunk_writer.h>
#include <peal/wire/http/http_method.h>
#include <peal/wire/http/http_response_parser.h>
#include <peal/wire/http/http_status.h>

namespace peal {
namespace {

using std::string_view_literals::operator""sv;

template <class Write>
std::string written(Write&& write) {
  std::array<char, 1000> room{};
  HttpResponseWriter writer(room);
  write(writer);
  return {room.data(), writer.size()};
}

TEST(HttpResponseWriter, a_head) {
  EXPECT_EQ(written([](HttpResponseWriter& head) {
              head.status(200);
              head.lines("Date: Sun, 22 Nov 2026 09:30:00 GMT\r\n");
              EXPECT_TRUE(head.field("Content-Type", "text/plain"));
              EXPECT_TRUE(head.field("X-Empty", ""));
              head.content_length(18446744073709551615U);
              EXPECT_EQ(head.end(), 131U);
            }),
            "HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 09:30:00 GMT\r\nContent-Type: text/plain\r\nX-Empty: \r\n"
            "Content-Length: 18446744073709551615\r\n\r\n");
}

TEST(HttpResponseWriter, statuses_with_and_without_a_reason) {
  EXPECT_EQ(written([](HttpResponseWriter& head) { head.status(431); }),
            "HTTP/1.1 431 Request Header Fields Too Large\r\n");
  EXPECT_EQ(written([](HttpResponseWriter& head) { head.status(999); }), "HTTP/1.1 999 \r\n");
  EXPECT_EQ(written([](HttpResponseWriter& head) { head.status(299); }), "HTTP/1.1 299 \r\n");
  EXPECT_EQ(http_reason(404), "Not Found");
  EXPECT_EQ(http_reason(299), "");
  EXPECT_EQ(http_reason(-1), "");
  EXPECT_EQ(http_reason(600), "");
  for (int status = 100; status < 1000; ++status) {
    EXPECT_LE(written([&](HttpResponseWriter& head) { head.status(status); }).size(), HttpResponseWriter::kStatusBytes);
  }
}

TEST(HttpResponseWriter, what_would_split_the_response_is_refused) {
  constexpr std::pair<std::string_view, std::string_view> kBad[] = {{"Location", "/a\r\nSet-Cookie: b"},
                                                                    {"Location", "/a\nX: y"},
                                                                    {"Location", "/a\r"},
                                                                    {"Location", "a\0b"sv},
                                                                    {"Location", "\x7f"},
                                                                    {"Location", "\x1b[2J"},
                                                                    {"", "v"},
                                                                    {"A b", "v"},
                                                                    {"A:", "v"},
                                                                    {"A\r\nB", "v"},
                                                                    {"\xc3\xa4", "v"},
                                                                    {"content-LENGTH", "3"},
                                                                    {"Transfer-Encoding", "chunked"},
                                                                    {"X", "long enough for a vector of bytes\n"}};
  for (const auto& [name, value] : kBad) {
    EXPECT_EQ(written([&](HttpResponseWriter& head) { EXPECT_FALSE(head.field(name, value)); }), "") << name << value;
    std::string text;
    if (name.size() < 14) {
      EXPECT_FALSE(append_http_field(text, name, value));
    }
    EXPECT_EQ(text, "");
  }
  std::string text;
  EXPECT_TRUE(append_http_field(text, "X", "\ta b\xff"));
  EXPECT_EQ(text, "X: \ta b\xff\r\n");
}

TEST(HttpResponseWriter, what_each_line_takes_at_most_is_enough) {
  for (const uint64_t length : {uint64_t{0}, uint64_t{13}, UINT64_MAX}) {
    std::array<char, HttpResponseWriter::kStatusBytes + HttpResponseWriter::kContentLengthBytes +
                         HttpResponseWriter::kChunkedBytes + HttpResponseWriter::kEndBytes>
        room{};
    HttpResponseWriter writer(room);
    writer.status(511);
    writer.content_length(length);
    writer.chunked();
    writer.end();
    EXPECT_LE(writer.size(), room.size());
  }
}

TEST(HttpResponseWriterDeathTest, too_little_room_is_a_bug) {
  std::array<char, 10> room{};
  HttpResponseWriter writer(room);
  EXPECT_DEATH(writer.status(200), "but room for 10");
}

TEST(HttpResponseWriter, into_a_buffer_and_back_through_the_parser) {
  Buffer buffer;
  HttpResponseWriter head(buffer.prepare(200));
  head.status(200);
  ASSERT_TRUE(head.field("A", "b"));
  head.chunked();
  buffer.commit(head.end());
  std::string framing;
  for (const std::string_view piece : {"hello"sv, ", the rest of it"sv}) {
    std::array<char, kMostHttpChunkHeadBytes> room{};
    framing.append(room.data(), write_http_chunk_head(room, piece.size())).append(piece).append(kHttpChunkEnd);
  }
  buffer.append(framing.append(kHttpLastChunk));
  HttpResponseParser parser;
  parser.begin();
  std::string body;
  EXPECT_EQ(parser.parse(buffer.view(), [&](std::string_view piece) { body += piece; }), buffer.size());
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(body, "hello, the rest of it");
}

TEST(HttpChunkWriter, heads) {
  const auto head = [](uint64_t bytes) {
    std::array<char, kMostHttpChunkHeadBytes> room{};
    return std::string(room.data(), write_http_chunk_head(room, bytes));
  };
  EXPECT_EQ(head(1), "1\r\n");
  EXPECT_EQ(head(0xabc), "abc\r\n");
  EXPECT_EQ(head(UINT64_MAX), "ffffffffffffffff\r\n");
}

TEST(HttpChunkWriter, a_chunk_of_nothing_is_refused) {
  std::array<char, kMostHttpChunkHeadBytes> room{};
  EXPECT_THROW(write_http_chunk_head(room, 0), std::invalid_argument);
}

TEST(HttpResponseWriter, a_status_of_other_than_three_digits_is_refused) {
  std::array<char, 100> room{};
  for (const int status : {99, 1000, 0, -1}) {
    HttpResponseWriter writer(room);
    EXPECT_THROW(writer.status(status), std::invalid_argument);
    EXPECT_EQ(writer.size(), 0U);
  }
}

TEST(HttpChunkWriter, the_last_chunk_with_trailers) {
  std::string text;
  const HttpField good[] = {{"Digest", "x"}, {"Server-Timing", "t;dur=1"}};
  EXPECT_TRUE(append_http_last_chunk(text, good));
  EXPECT_EQ(text, "0\r\nDigest: x\r\nServer-Timing: t;dur=1\r\n\r\n");
  text.clear();
  EXPECT_TRUE(append_http_last_chunk(text, {}));
  EXPECT_EQ(text, kHttpLastChunk);
  for (const HttpField& bad : {HttpField{"Content-Length", "3"}, HttpField{"set-cookie", "a"},
                               HttpField{"A", "b\r\nC: d"}, HttpField{"Host", "h"}, HttpField{"A b", "c"}}) {
    const HttpField fields[] = {good[0], bad};
    text.clear();
    EXPECT_FALSE(append_http_last_chunk(text, fields)) << bad.name;
    EXPECT_EQ(text, "");
  }
}

TEST(HttpField, lines_taken_apart) {
  std::string_view lines = "A: b\r\nLong-Name:\t c d \r\nEmpty:\r\n";
  HttpField field;
  ASSERT_TRUE(next_http_field(lines, field));
  EXPECT_EQ(field.name, "A");
  EXPECT_EQ(field.value, "b");
  ASSERT_TRUE(next_http_field(lines, field));
  EXPECT_EQ(field.value, "c d");
  ASSERT_TRUE(next_http_field(lines, field));
  EXPECT_EQ(field.name, "Empty");
  EXPECT_EQ(field.value, "");
  EXPECT_FALSE(next_http_field(lines, field));
  EXPECT_TRUE(same_field_name("eTAG", "Etag"));
  EXPECT_FALSE(same_field_name("a", "ab"));
  EXPECT_FALSE(same_field_name("^", "~")) << "no letters, though one bit apart";
}

TEST(HttpMethod, names) {
  for (int value = 0; value < kHttpMethods; ++value) {
    const auto method = static_cast<HttpMethod>(value);
    EXPECT_EQ(http_method(to_string(method)), method);
  }
  EXPECT_EQ(http_method("get"), HttpMethod::kOther);
  EXPECT_EQ(http_method("GETS"), HttpMethod::kOther);
}

}  // namespace
}  // namespace peal
