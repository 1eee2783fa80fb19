// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/histogram_codec.h>

#include <zlib.h>

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <peal/wire/base64.h>
#include <tests/support/histogram_text.h>

namespace peal {
namespace {

constexpr std::size_t kHeaderBytes = 40;

Histogram sample() {
  Histogram histogram({.lowest = 1, .highest = 1'000'000, .significant_digits = 2});
  for (int i = 0; i < 200; ++i) histogram.record_n(i * i, static_cast<std::uint64_t>(i + 1) * 97);
  return histogram;
}

// Returns the payload, whatever it is, in a correct compressed form: compressed by zlib, with a header, in base64.
std::string wrapped(const std::string& payload) {
  uLongf size = ::compressBound(payload.size());
  std::string message(8 + size, '\0');
  EXPECT_EQ(::compress(reinterpret_cast<Bytef*>(message.data()) + 8, &size,
                       reinterpret_cast<const Bytef*>(payload.data()), payload.size()),
            Z_OK);
  message.resize(8 + size);
  message.replace(0, 4, "\x1c\x84\x93\x14");
  for (std::size_t i = 0; i < 4; ++i) message[4 + i] = static_cast<char>(size >> (24 - 8 * i));
  return base64_encode(message);
}

// Returns a payload that has the header of sample() with the right length, but the given body.
std::string payload_with_body(const std::string& body) {
  std::string payload = encode_histogram_payload(sample()).substr(0, kHeaderBytes) + body;
  for (std::size_t i = 0; i < 4; ++i) payload[4 + i] = static_cast<char>(body.size() >> (24 - 8 * i));
  return payload;
}

void expect_refused(const std::string& payload) {
  for (const auto& result : {decode_histogram_payload(payload), decode_histogram(wrapped(payload))}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(), Trouble::kBadHistogram);
  }
}

TEST(HistogramCodec, what_is_written_reads_back) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    Histogram histogram({.lowest = 1 + round % 3 * 500,
                         .highest = std::numeric_limits<std::int64_t>::max() >> (random() % 40),
                         .significant_digits = 2 + round % 2});
    for (int i = 0; i < round * 10; ++i) {
      histogram.record_n(static_cast<std::int64_t>(random() >> (1 + random() % 62)), random() >> (8 + random() % 56));
    }
    const Result<Histogram> text = decode_histogram(encode_histogram(histogram));
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, histogram);
    EXPECT_EQ(text->total_count(), histogram.total_count());
    const Result<Histogram> payload = decode_histogram_payload(encode_histogram_payload(histogram));
    ASSERT_TRUE(payload);
    EXPECT_EQ(*payload, histogram);
  }
}

TEST(HistogramCodec, every_cut_and_every_added_byte_is_refused) {
  const std::string text = encode_histogram(sample()), payload = encode_histogram_payload(sample());
  for (std::size_t size = 0; size < text.size(); ++size) ASSERT_FALSE(decode_histogram(text.substr(0, size))) << size;
  for (std::size_t size = 0; size < payload.size(); ++size) {
    ASSERT_FALSE(decode_histogram_payload(payload.substr(0, size))) << size;
    ASSERT_FALSE(decode_histogram(wrapped(payload.substr(0, size)))) << size;
  }
  expect_refused(payload + '\0');
  const std::string message = *base64_decode(text);
  EXPECT_FALSE(decode_histogram(base64_encode(message + "x")));
  EXPECT_FALSE(decode_histogram(text + "\n"));
}

TEST(HistogramCodec, changed_bytes_are_refused_or_read_as_what_they_say) {
  const std::string payload = encode_histogram_payload(sample());
  for (std::size_t at = 0; at < payload.size(); ++at) {
    for (const int change : {0x01, 0x40, 0x80, 0xff}) {
      std::string changed = payload;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const Result<Histogram> result = decode_histogram_payload(changed);
      if (!result) continue;
      const Result<Histogram> again = decode_histogram_payload(encode_histogram_payload(*result));
      ASSERT_TRUE(again);
      ASSERT_EQ(*again, *result) << at;
    }
  }
  const std::string message = *base64_decode(encode_histogram(sample()));
  for (std::size_t at = 0; at < message.size(); ++at) {
    std::string changed = message;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    const Result<Histogram> result = decode_histogram(base64_encode(changed));
    // The changed text must be refused, or it must still give the original histogram. The latter is possible because
    // readers ignore four bits of the cookie, and zlib ignores some bits of its own header.
    ASSERT_EQ(result.value_or(sample()), sample()) << at;
  }
}

TEST(HistogramCodec, headers_that_no_histogram_has_are_refused) {
  const std::string payload = encode_histogram_payload(sample());
  const auto with = [&](std::size_t at, std::string_view bytes) {
    return std::string(payload).replace(at, bytes.size(), bytes);
  };
  using std::string_view_literals::operator""sv;
  expect_refused(with(0, "\x1c\x84\x93\x08"sv));                   // a different cookie
  expect_refused(with(8, "\0\0\0\1"sv));                           // a shift of 1
  expect_refused(with(12, "\0\0\0\6"sv));                          // 6 digits
  expect_refused(with(12, "\xff\xff\xff\xff"sv));                  // -1 digits
  expect_refused(with(16, "\0\0\0\0\0\0\0\0"sv));                  // lowest value 0
  expect_refused(with(16, "\x80\0\0\0\0\0\0\0"sv));                // lowest value below 0
  expect_refused(with(24, "\0\0\0\0\0\0\0\1"sv));                  // highest value 1
  expect_refused(with(24, "\xff\xff\xff\xff\xff\xff\xff\xff"sv));  // highest value below 0
  expect_refused(with(32, "\x40\0\0\0\0\0\0\0"sv));                // a scale of 2
  expect_refused(with(32, "\x7f\xf8\0\0\0\0\0\0"sv));              // a scale that is not a number
}

TEST(HistogramCodec, bodies_that_do_not_fit_are_refused) {
  const std::string most(8, '\xff');
  expect_refused(payload_with_body("\x80"));                       // a number that is cut off
  expect_refused(payload_with_body("\xfd\xff\xff\xff\x0f"));       // more zeros than there are counts
  expect_refused(payload_with_body(most + "\xff"));                // 2^63 zeros
  expect_refused(payload_with_body(std::string(10'000, '\x02')));  // more counts than the histogram has
  expect_refused(payload_with_body(most.substr(0, 8) + "\x02" + std::string("\xfe") + most.substr(1) + "\xff\x02"));
  expect_refused(payload_with_body("\xfe" + most.substr(1) + "\xff" + "\x02"));  // 2^63 - 1 messages and one more
}

TEST(HistogramCodec, a_body_of_trailing_zeros_is_read) {
  const Result<Histogram> result = decode_histogram_payload(payload_with_body(std::string("\x06\x00\x09\x00", 4)));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->count_at(0), 3u);
  EXPECT_EQ(result->total_count(), 3u);
}

TEST(HistogramCodec, a_stream_that_inflates_without_end_is_refused) {
  expect_refused(encode_histogram_payload(sample()) + std::string(64 << 20, '\0'));
}

TEST(HistogramText, counts_past_what_doubles_hold_end) {
  Histogram histogram;
  histogram.record_n(5, (std::uint64_t{1} << 62) + 1);
  histogram.record(6);
  const std::string text = percentile_text(histogram);
  EXPECT_LT(text.size(), 100'000u);
  EXPECT_NE(text.find("       6.000 1.000000000000 4611686018427387906\n"), std::string::npos) << text;
}

TEST(HistogramText, more_ticks_give_more_lines) {
  const auto lines = [](int ticks) {
    const std::string text = percentile_text(sample(), {.unit = 1, .ticks_per_half_distance = ticks});
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_LT(lines(1), lines(5));
  EXPECT_LT(lines(5), lines(20));
}

}  // namespace
}  // namespace peal
