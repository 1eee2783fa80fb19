// SPDX-License-Identifier: BSD-3-Clause
// Tests of HttpChunkedDecoder for what only a server uses. The faults of the coding are in the table of
// http_response_parser_test.cc.
#include <peal/wire/http/http_chunked_decoder.h>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

struct Dechunked {
  std::string body;
  size_t pieces = 0;
  size_t used = 0;
  bool done = false;
  HttpParseError error = HttpParseError::kNone;
};

Dechunked decode(HttpChunkedDecoder& decoder, std::string_view input, size_t piece_bytes) {
  test::GuardedBytes guarded(input.size() + 1);
  Dechunked out;
  decoder.begin();
  while (out.used < input.size() && !decoder.done() && decoder.error() == HttpParseError::kNone) {
    const std::string_view bytes = guarded.hold(input.substr(out.used, piece_bytes));
    std::string_view piece;
    out.used += decoder.step(bytes, piece);
    out.body += piece;
    out.pieces += piece.empty() ? 0 : 1;
  }
  out.done = decoder.done();
  out.error = decoder.error();
  return out;
}

TEST(HttpChunkedDecoder, pieces_of_any_size) {
  constexpr std::string_view kInput = "5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nTrailer-One: 1\r\nTwo: 2\r\n\r\n";
  HttpChunkedDecoder decoder;
  for (size_t bytes = 1; bytes <= kInput.size() + 4; ++bytes) {
    const Dechunked out = decode(decoder, std::string(kInput) + "rest", bytes);
    EXPECT_EQ(out.body, "hello, world") << bytes;
    EXPECT_TRUE(out.done);
    EXPECT_EQ(out.used, kInput.size()) << "what follows belongs to the next message";
  }
}

TEST(HttpChunkedDecoder, whole_chunks_come_in_one_piece_each) {
  HttpChunkedDecoder decoder;
  EXPECT_EQ(decode(decoder, "1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n", 1000).pieces, 3U);
}

TEST(HttpChunkedDecoder, the_largest_size_there_is_and_one_digit_more) {
  HttpChunkedDecoder decoder;
  EXPECT_EQ(decode(decoder, "FFFFFFFFFFFFFFFF\r\nabc", 1000).body, "abc");
  EXPECT_EQ(decoder.error(), HttpParseError::kNone);
  EXPECT_EQ(decode(decoder, "0000ffffffffffffffff\r\nabc", 1000).body, "abc");
  EXPECT_EQ(decode(decoder, "1FFFFFFFFFFFFFFFF\r\nabc", 1000).error, HttpParseError::kBadChunk);
}

TEST(HttpChunkedDecoder, limits_hold_however_the_bytes_are_cut) {
  HttpChunkedDecoder decoder({.line_bytes = 10, .trailer_bytes = 10});
  for (size_t bytes = 1; bytes <= 40; ++bytes) {
    EXPECT_EQ(decode(decoder, "5;345678\r\nhello\r\n0\r\nA: 456\r\n\r\n", bytes).done, true) << bytes;
    EXPECT_EQ(decode(decoder, "5;3456789\r\nhello\r\n", bytes).error, HttpParseError::kChunkLineTooLong) << bytes;
    EXPECT_EQ(decode(decoder, "00000000005\r\nhello\r\n", bytes).error, HttpParseError::kChunkLineTooLong) << bytes;
    EXPECT_EQ(decode(decoder, "0\r\nA: 4567\r\n\r\n", bytes).error, HttpParseError::kHeadTooLarge) << bytes;
    EXPECT_EQ(decode(decoder, "0\r\nA: 45678901234567", bytes).error, HttpParseError::kHeadTooLarge) << bytes;
  }
}

TEST(HttpChunkedDecoder, a_broken_body_leaves_the_next_one_whole) {
  HttpChunkedDecoder decoder;
  for (const char* broken : {"x", "5\r\nhel", "5\r\nhello!", "0\r\nA: b", "0\r\nA", "0;", "7"}) {
    decode(decoder, broken, 1);
    EXPECT_EQ(decode(decoder, "2\r\nok\r\n0\r\n\r\n", 3).body, "ok") << broken;
    EXPECT_TRUE(decoder.done());
  }
}

}  // namespace
}  // namespace peal
