// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/content_decoder.h>

#include <zstd.h>

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <peal/wire/content/content_encoder.h>

namespace peal {
namespace {

// The result of decoding bytes that were given in pieces of one size, into rooms of one size.
struct DecodeOutcome {
  std::string bytes;
  bool whole = false;
  std::optional<ContentDecodeError> error;
};

DecodeOutcome decode_all(ContentDecoder& decoder, std::string_view coded, size_t piece_bytes = SIZE_MAX,
                         size_t room_bytes = 999) {
  DecodeOutcome outcome;
  std::vector<std::byte> room(room_bytes);
  while (!coded.empty() && !outcome.error) {
    std::string_view piece = coded.substr(0, piece_bytes);
    coded.remove_prefix(piece.size());
    for (;;) {
      const auto made = decoder.decode(piece, room);
      if (!made) outcome.error = made.error();
      if (!made || *made == 0) break;
      EXPECT_LE(*made, room_bytes);
      outcome.bytes.append(reinterpret_cast<const char*>(room.data()), *made);
    }
    EXPECT_TRUE(outcome.error || piece.empty());
  }
  outcome.whole = decoder.is_whole();
  return outcome;
}

std::string words(size_t bytes) {
  std::mt19937 random(7);
  std::string made;
  while (made.size() < bytes) made += "word " + std::to_string(random() % 5000) + "\n";
  made.resize(bytes);
  return made;
}

class Decoding : public testing::TestWithParam<ContentCoding> {
 protected:
  static std::string encode(std::string_view bytes) {
    ContentEncoder encoder(GetParam(), {});
    Buffer coded;
    encoder.begin();
    encoder.encode(bytes, ContentEncoder::Then::kEnd, coded);
    return coded.to_string();
  }
  static bool gzip() { return GetParam() == ContentCoding::kGzip; }
};
INSTANTIATE_TEST_SUITE_P(Codings, Decoding, testing::Values(ContentCoding::kGzip, ContentCoding::kZstd),
                         [](const auto& coding) { return std::string(to_string(coding.param)); });

TEST_P(Decoding, bodies_of_any_length_in_pieces_of_any_length) {
  for (const size_t bytes : {0, 1, 1000, 70'000, 1'000'000}) {
    const std::string body = words(bytes);
    const std::string coded = encode(body);
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, SIZE_MAX}) {
      if (piece < 100 && bytes > 100'000) continue;
      ContentDecoder decoder(GetParam());
      const DecodeOutcome outcome = decode_all(decoder, coded, piece, piece == 7 ? 1 : 5000);
      ASSERT_FALSE(outcome.error) << bytes << " " << piece;
      ASSERT_TRUE(outcome.bytes == body) << bytes << " " << piece;
      ASSERT_TRUE(outcome.whole);
      EXPECT_EQ(decoder.coded_bytes(), coded.size());
      EXPECT_EQ(decoder.decoded_bytes(), bytes);
    }
  }
}

TEST_P(Decoding, what_was_flushed_is_there_at_once) {
  ContentEncoder encoder(GetParam(), {});
  ContentDecoder decoder(GetParam());
  encoder.begin();
  for (const std::string& line : {std::string("first\n"), words(30'000), std::string("third\n")}) {
    Buffer coded;
    encoder.encode(line, ContentEncoder::Then::kFlush, coded);
    const DecodeOutcome outcome = decode_all(decoder, coded.to_string());
    EXPECT_TRUE(outcome.bytes == line);
    EXPECT_FALSE(outcome.whole);
  }
}

TEST_P(Decoding, several_members_are_one_body) {
  const std::string coded = encode("one ") + encode("") + encode("two ") + encode(words(50'000));
  for (const size_t piece : {size_t{1}, size_t{100}, SIZE_MAX}) {
    ContentDecoder decoder(GetParam());
    const DecodeOutcome outcome = decode_all(decoder, coded, piece);
    EXPECT_FALSE(outcome.error);
    EXPECT_TRUE(outcome.bytes == "one two " + words(50'000));
    EXPECT_TRUE(outcome.whole);
  }
}

TEST_P(Decoding, no_bytes_at_all_are_an_empty_body) {
  ContentDecoder decoder(GetParam());
  EXPECT_TRUE(decoder.is_whole());
}

TEST_P(Decoding, a_body_cut_anywhere_is_not_whole) {
  const std::string coded = encode(words(3000));
  for (size_t size = 1; size < coded.size(); ++size) {
    ContentDecoder decoder(GetParam());
    const DecodeOutcome outcome = decode_all(decoder, coded.substr(0, size));
    ASSERT_FALSE(outcome.error) << size;
    ASSERT_FALSE(outcome.whole) << size;
  }
}

TEST_P(Decoding, garbage_before_between_and_behind) {
  const std::string coded = encode("body");
  for (const std::string& bytes :
       {std::string("plain text, though it says otherwise"), coded + "garbage behind", coded + std::string(20, '\0')}) {
    ContentDecoder decoder(GetParam());
    const DecodeOutcome outcome = decode_all(decoder, bytes, 3);
    EXPECT_EQ(outcome.error, ContentDecodeError::kBroken);
    EXPECT_FALSE(outcome.whole);
    std::byte room[10];
    std::string_view more = coded;
    EXPECT_EQ(decoder.decode(more, room).error(), ContentDecodeError::kBroken) << "it stays so";
  }
}

TEST_P(Decoding, a_flipped_bit_is_an_error_or_a_body_that_is_not_whole_or_other_bytes) {
  // No flipped bit may crash the decoder, and the checksum of gzip must find every one.
  const std::string body = words(2000);
  const std::string coded = encode(body);
  size_t unnoticed = 0;
  for (size_t bit = 0; bit < coded.size() * 8; bit += 5) {
    std::string bent = coded;
    bent[bit / 8] = static_cast<char>(bent[bit / 8] ^ (1 << bit % 8));
    ContentDecoder decoder(GetParam());
    const DecodeOutcome outcome = decode_all(decoder, bent);
    if (outcome.whole && !outcome.error && outcome.bytes != body) ++unnoticed;
  }
  EXPECT_TRUE(!gzip() || unnoticed == 0) << unnoticed;
}

TEST_P(Decoding, at_the_limit_and_one_byte_beyond) {
  const std::string coded = encode(words(10'000));
  ContentDecoder enough(GetParam(), {.decoded_bytes = 10'000});
  EXPECT_TRUE(decode_all(enough, coded).whole);
  ContentDecoder less(GetParam(), {.decoded_bytes = 9'999});
  const DecodeOutcome outcome = decode_all(less, coded, SIZE_MAX, 100);
  EXPECT_EQ(outcome.error, ContentDecodeError::kTooLong);
  EXPECT_LE(outcome.bytes.size(), 9'999u);
}

TEST_P(Decoding, a_bomb_is_stopped_by_its_ratio) {
  const std::string coded = encode(std::string(40 << 20, '\0'));
  ContentDecoder decoder(GetParam(), {.ratio = 500, .ratio_free_bytes = 1 << 20});
  const DecodeOutcome outcome = decode_all(decoder, coded, SIZE_MAX, 65536);
  EXPECT_EQ(outcome.error, ContentDecodeError::kTooLong);
  EXPECT_LT(outcome.bytes.size(), size_t{32} << 20);
  ContentDecoder any(GetParam(), {.ratio = 0});
  EXPECT_TRUE(decode_all(any, coded, SIZE_MAX, 65536).whole);
  // The default ratio allows the highest ratio that gzip can reach.
  if (gzip()) {
    ContentDecoder usual(GetParam());
    EXPECT_TRUE(decode_all(usual, coded, SIZE_MAX, 65536).whole);
  }
}

TEST_P(Decoding, options_that_make_no_sense_are_refused) {
  EXPECT_THROW(ContentDecoder(ContentCoding::kIdentity, {}), std::invalid_argument);
  EXPECT_THROW(ContentDecoder(GetParam(), {.zstd_window_bytes = 3000}), std::invalid_argument);
  EXPECT_THROW(ContentDecoder(GetParam(), {.zstd_window_bytes = 0}), std::invalid_argument);
}

std::string zstd_frame(std::string_view bytes, int window_log) {
  std::string frame(ZSTD_compressBound(bytes.size()) + 100, '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);  // a flush first, so that the frame has no length
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  return frame.substr(0, out.pos);
}

TEST(ZstdDecoding, a_frame_that_asks_for_a_larger_window_is_refused) {
  const std::string body = words(100'000);
  ContentDecoder decoder(ContentCoding::kZstd);
  EXPECT_TRUE(decode_all(decoder, zstd_frame(body, 23)).bytes == body);
  ContentDecoder other(ContentCoding::kZstd);
  EXPECT_EQ(decode_all(other, zstd_frame(body, 24)).error, ContentDecodeError::kBroken);
}

// libzstd may be built with decoders for these formats. The web does not use the formats, and their decoders are no
// longer maintained.
TEST(ZstdDecoding, frames_of_before_the_standard_are_no_zstd) {
  for (const char version : std::string_view("\x1e\x22\x23\x24\x25\x26\x27")) {
    for (const size_t piece : {size_t{1}, SIZE_MAX}) {
      ContentDecoder decoder(ContentCoding::kZstd);
      const std::string frame = version + std::string("\xb5\x2f\xfd\x04\x00\x01\x00\x00\x40\x00", 10);
      EXPECT_EQ(decode_all(decoder, frame, piece).error, ContentDecodeError::kBroken);
    }
  }
}

TEST(ZstdDecoding, skippable_frames_are_passed_over) {
  const std::string skipped("\x50\x2a\x4d\x18\x05\x00\x00\x00hello", 13);
  const std::string frame = zstd_frame("body", 17);
  ContentDecoder decoder(ContentCoding::kZstd);
  const DecodeOutcome outcome = decode_all(decoder, skipped + frame + skipped, 2);
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(outcome.bytes, "body");
  EXPECT_TRUE(outcome.whole);
}

}  // namespace
}  // namespace peal
