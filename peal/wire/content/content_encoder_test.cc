// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/content_encoder.h>

#include <zlib.h>
#include <zstd.h>

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace peal {
namespace {

using Then = ContentEncoder::Then;

// The bytes that a client can decode from a coded text, and whether the text was complete.
struct Decoded {
  std::string bytes;
  bool ended = false;
};

Decoded gunzip(std::string_view coded) {
  Decoded decoded;
  z_stream z{};
  EXPECT_EQ(inflateInit2(&z, 15 + 16), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
  z.avail_in = static_cast<uInt>(coded.size());
  int answer = Z_OK;
  do {
    char room[4096];
    z.next_out = reinterpret_cast<Bytef*>(room);
    z.avail_out = sizeof(room);
    answer = inflate(&z, Z_SYNC_FLUSH);
    decoded.bytes.append(room, sizeof(room) - z.avail_out);
  } while (answer == Z_OK);
  decoded.ended = answer == Z_STREAM_END && z.avail_in == 0;
  inflateEnd(&z);
  return decoded;
}

Decoded unzstd(std::string_view coded) {
  Decoded decoded;
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ZSTD_inBuffer in{coded.data(), coded.size(), 0};
  for (bool more = true; more;) {
    char room[4096];
    ZSTD_outBuffer out{room, sizeof(room), 0};
    const size_t left = ZSTD_decompressStream(context, &out, &in);
    EXPECT_EQ(ZSTD_isError(left), 0U) << ZSTD_getErrorName(left);
    decoded.bytes.append(room, out.pos);
    decoded.ended = left == 0 && in.pos == in.size;
    more = left != 0 && ZSTD_isError(left) == 0 && (in.pos < in.size || out.pos == out.size);
  }
  ZSTD_freeDCtx(context);
  return decoded;
}

std::string text(size_t bytes) {
  std::string made;
  for (size_t at = 0; made.size() < bytes; ++at) made += "line " + std::to_string(at * at) + " of a text\n";
  made.resize(bytes);
  return made;
}

std::string noise(size_t bytes) {
  std::mt19937 random(1);
  std::string made(bytes, ' ');
  for (char& byte : made) byte = static_cast<char>(random());
  return made;
}

class Encoding : public testing::TestWithParam<ContentCoding> {
 protected:
  static Decoded decode(std::string_view coded) {
    return GetParam() == ContentCoding::kGzip ? gunzip(coded) : unzstd(coded);
  }
  std::string whole(std::string_view bytes) {
    Buffer coded;
    encoder_.begin(bytes.size());
    encoder_.encode(bytes, Then::kEnd, coded);
    return coded.to_string();
  }
  ContentEncoder encoder_{GetParam(), {}};
};
INSTANTIATE_TEST_SUITE_P(Codings, Encoding, testing::Values(ContentCoding::kGzip, ContentCoding::kZstd),
                         [](const auto& coding) { return std::string(to_string(coding.param)); });

TEST_P(Encoding, whole_bodies_one_after_the_other) {
  for (const size_t bytes : {0, 1, 1000, 20 * 1024, 1'000'000}) {
    const std::string body = text(bytes);
    const std::string coded = whole(body);
    const Decoded decoded = decode(coded);
    EXPECT_TRUE(decoded.ended) << bytes;
    EXPECT_TRUE(decoded.bytes == body) << bytes;
    if (bytes >= 1000) {
      EXPECT_LT(coded.size(), bytes / 2);
    }
  }
}

TEST_P(Encoding, what_cannot_be_packed_grows_little) {
  const std::string body = noise(300'000);
  const std::string coded = whole(body);
  EXPECT_TRUE(decode(coded).bytes == body);
  EXPECT_LT(coded.size(), body.size() + 300);
}

TEST_P(Encoding, after_a_flush_all_so_far_can_be_decoded) {
  encoder_.begin();
  std::string coded;
  std::string sent;
  for (size_t at = 0; at < 20; ++at) {
    const std::string piece = at % 3 == 2 ? noise(at * 4000) : text(at * 5000 + 1);
    Buffer output;
    encoder_.encode(piece, Then::kFlush, output);
    coded += output.to_string();
    sent += piece;
    const Decoded decoded = decode(coded);
    ASSERT_TRUE(decoded.bytes == sent) << at << ": " << decoded.bytes.size() << " of " << sent.size();
    ASSERT_FALSE(decoded.ended);
  }
  Buffer output;
  encoder_.encode({}, Then::kEnd, output);
  EXPECT_TRUE(decode(coded + output.to_string()).ended);
}

TEST_P(Encoding, small_pieces_stay_inside_until_they_are_wanted) {
  encoder_.begin();
  Buffer output;
  for (int at = 0; at < 1000; ++at) encoder_.encode("piece after piece\n", Then::kMore, output);
  EXPECT_LT(output.size(), 100U);
  encoder_.encode({}, Then::kEnd, output);
  const Decoded decoded = decode(output.to_string());
  EXPECT_TRUE(decoded.ended);
  EXPECT_EQ(decoded.bytes.size(), 18'000U);
}

TEST_P(Encoding, a_body_that_was_broken_off_leaves_nothing_behind) {
  encoder_.begin();
  Buffer dropped;
  encoder_.encode(text(100'000), Then::kMore, dropped);
  EXPECT_TRUE(decode(whole("next")).bytes == "next");
}

}  // namespace
}  // namespace peal
