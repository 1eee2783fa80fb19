// SPDX-License-Identifier: BSD-3-Clause
// Tests of the framings with a length. frame_test.cc has the tests that are common to all framings.
#include <peal/wire/framing/length_framing.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <peal/wire/framing/varint.h>
#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr size_t kMiB = 1024 * 1024;

// Returns the bytes of a length that a peer sends.
std::string length(uint64_t value, const LengthFraming& framing) {
  std::string bytes;
  for (size_t at = 0; at < framing.length_bytes; ++at) {
    const auto byte = static_cast<char>(value >> 8 * at);
    bytes.insert(framing.big_endian ? bytes.begin() : bytes.end(), byte);
  }
  return bytes;
}

uint64_t largest(size_t bytes) { return UINT64_MAX >> (64 - 8 * bytes); }

// Calls `check` with a LengthFraming for each length_bytes, big_endian and counts_itself.
template <class Check>
void with_every_length(size_t limit_bytes, const Check& check) {
  for (size_t bytes = 1; bytes <= 8; ++bytes) {
    for (const bool big_endian : {true, false}) {
      for (const bool counts_itself : {true, false}) {
        SCOPED_TRACE(testing::Message() << bytes << " bytes, big-endian " << big_endian << ", itself "
                                        << counts_itself);
        check(LengthFraming{bytes, big_endian, counts_itself, limit_bytes});
      }
    }
  }
}

// Makes a Buffer of `bytes` bytes from references to one block of 64 MiB, so that nothing is copied.
Buffer large_body(uint64_t bytes) {
  static const SharedBytes shared = share_bytes(std::string(64 * kMiB, 'x'));
  Buffer body;
  for (; bytes >= shared->size(); bytes -= shared->size()) body.append(shared);
  body.append(std::string_view(*shared).substr(0, bytes));
  return body;
}

TEST(LengthFraming, the_bytes_of_a_message) {
  EXPECT_EQ(test::framed(LengthFraming{}, "hello"), "\0\0\0\5hello"s);
  EXPECT_EQ(test::framed(LengthFraming{}, ""), "\0\0\0\0"s);
  EXPECT_EQ(test::framed(LengthFraming{.big_endian = false}, "hello"), "\5\0\0\0hello"s);
  EXPECT_EQ(test::framed(LengthFraming{.counts_itself = true}, "hello"), "\0\0\0\x09hello"s);
  EXPECT_EQ(test::framed(LengthFraming{.length_bytes = 2}, std::string(0x184, 'x')),
            "\x01\x84" + std::string(0x184, 'x'));
  EXPECT_EQ(test::framed(VarintFraming{}, "hello"), "\5hello");
  EXPECT_EQ(test::framed(VarintFraming{}, std::string(300, 'x')), "\xac\x02" + std::string(300, 'x'));
  with_every_length(1000, [](const LengthFraming& framing) {
    const uint64_t itself = framing.counts_itself ? framing.length_bytes : 0;
    EXPECT_EQ(test::framed(framing, "hello"), length(5 + itself, framing) + "hello");
  });
}

TEST(LengthFraming, every_value_of_the_length_is_judged_before_the_body) {
  with_every_length(5000, [](const LengthFraming& framing) {
    const uint64_t itself = framing.counts_itself ? framing.length_bytes : 0;
    for (uint64_t body : {uint64_t{0}, uint64_t{1}, uint64_t{254}, uint64_t{5000}, uint64_t{5001}, uint64_t{65'536},
                          largest(framing.length_bytes) - itself}) {
      if (body > largest(framing.length_bytes) - itself) continue;
      const std::string header = length(body + itself, framing);
      const FramePeek found = framing.peek(header);
      FrameState expected = body == 0 ? FrameState::kWhole : FrameState::kMore;
      if (body > 5000) expected = FrameState::kTooLong;
      EXPECT_EQ(found.state, expected) << body;
      EXPECT_EQ(found.body_bytes, body);
      EXPECT_EQ(found.header_bytes, framing.length_bytes);
      for (size_t part = 1; part <= header.size(); ++part) {
        Buffer input = test::in_parts(header, part);
        Buffer frame;
        EXPECT_EQ(framing.next_frame(input, frame), expected) << body;
        EXPECT_EQ(input.size() + frame.size(), header.size());
      }
    }
  });
}

TEST(LengthFraming, the_largest_length_without_a_limit) {
  with_every_length(SIZE_MAX, [](const LengthFraming& framing) {
    const uint64_t itself = framing.counts_itself ? framing.length_bytes : 0;
    const std::string bytes = length(largest(framing.length_bytes), framing) + std::string(20, 'x');
    const FramePeek found = framing.peek(bytes);
    EXPECT_EQ(found.state, FrameState::kMore);
    EXPECT_EQ(found.body_bytes, largest(framing.length_bytes) - itself);
    LengthFraming limited = framing;
    limited.limit_bytes = largest(framing.length_bytes) - itself;
    EXPECT_EQ(limited.peek(bytes).state, FrameState::kMore);
    --limited.limit_bytes;
    EXPECT_EQ(limited.peek(bytes).state, FrameState::kTooLong);
  });
  const std::string largest_varint = std::string(9, '\xff') + "\x01";
  EXPECT_EQ(VarintFraming{.limit_bytes = SIZE_MAX}.peek(largest_varint).state, FrameState::kMore);
  EXPECT_EQ(VarintFraming{.limit_bytes = SIZE_MAX}.peek(largest_varint).body_bytes, UINT64_MAX);
  EXPECT_EQ(VarintFraming{.limit_bytes = SIZE_MAX - 1}.peek(largest_varint).state, FrameState::kTooLong);
}

TEST(LengthFraming, the_longest_body_that_a_length_expresses_and_one_byte_more) {
  with_every_length(SIZE_MAX, [](const LengthFraming& framing) {
    if (framing.length_bytes > 4) return;
    const uint64_t longest = largest(framing.length_bytes) - (framing.counts_itself ? framing.length_bytes : 0);
    Buffer output("before");
    Buffer beyond = large_body(longest + 1);
    EXPECT_THROW(framing.append(output, std::move(beyond)), std::invalid_argument);
    ASSERT_EQ(output.size(), 6U) << "nothing is appended";
    EXPECT_EQ(beyond.size(), longest + 1) << "nothing is moved";
    output.clear();
    framing.append(output, large_body(longest));
    EXPECT_EQ(output.view(framing.length_bytes), length(largest(framing.length_bytes), framing));
    Buffer body;
    EXPECT_EQ(framing.next(output, body), FrameState::kWhole);
    EXPECT_EQ(body.size(), longest);
    EXPECT_TRUE(output.empty());
  });
}

TEST(LengthFraming, a_length_that_counts_itself_and_is_shorter) {
  for (size_t bytes = 1; bytes <= 8; ++bytes) {
    const LengthFraming framing{.length_bytes = bytes, .counts_itself = true};
    for (uint64_t announced = 0; announced < bytes; ++announced) {
      const std::string message = length(announced, framing) + "behind";
      Buffer input(message);
      Buffer body("what was there before");
      EXPECT_EQ(framing.peek(message).state, FrameState::kTooShort);
      EXPECT_EQ(framing.next(input, body), FrameState::kTooShort) << announced << " of " << bytes;
      EXPECT_EQ(framing.next_frame(input, body), FrameState::kTooShort);
      EXPECT_EQ(input.to_string(), message);
      EXPECT_EQ(body.to_string(), "what was there before");
    }
    EXPECT_EQ(framing.peek(length(bytes, framing)).state, FrameState::kWhole) << "an empty body";
  }
}

TEST(LengthFraming, a_length_of_no_bytes_or_of_nine_throws) {
  for (const size_t bytes : {size_t{0}, size_t{9}, SIZE_MAX}) {
    const LengthFraming framing{.length_bytes = bytes};
    Buffer input("0123456789");
    Buffer body("body");
    EXPECT_THROW(framing.peek("0123456789"), std::invalid_argument);
    EXPECT_THROW(framing.peek(""), std::invalid_argument);
    EXPECT_THROW(framing.peek(input), std::invalid_argument);
    EXPECT_THROW(framing.next(input, body), std::invalid_argument);
    EXPECT_THROW(framing.next_frame(input, body), std::invalid_argument);
    EXPECT_THROW(framing.append(input, "x"), std::invalid_argument);
    EXPECT_THROW(framing.append(input, std::move(body)), std::invalid_argument);
    EXPECT_EQ(input.to_string(), "0123456789");
    EXPECT_EQ(body.to_string(), "body");
  }
}

TEST(LengthFraming, no_memory_is_taken_before_the_bytes_of_the_body_arrive) {
  const uint64_t before = BlockPool::here().stats().bytes_in_use;
  const LengthFraming fixed{.limit_bytes = 64 * kMiB};
  const VarintFraming varint{.limit_bytes = 64 * kMiB};
  Buffer inputs[] = {Buffer("\x04\0\0\0abc"sv), Buffer("\x80\x80\x80\x20"
                                                       "abc"sv)};
  Buffer body;
  EXPECT_EQ(fixed.next(inputs[0], body), FrameState::kMore);
  EXPECT_EQ(varint.next(inputs[1], body), FrameState::kMore);
  EXPECT_EQ(fixed.peek(inputs[0]).body_bytes, 64 * kMiB);
  EXPECT_EQ(varint.peek(inputs[1]).body_bytes, 64 * kMiB);
  EXPECT_LE(BlockPool::here().stats().bytes_in_use - before, 2 * kLargeBlockBytes);
}

TEST(LengthFraming, a_look_at_less_than_the_length_although_more_has_arrived) {
  EXPECT_EQ(LengthFraming{}.peek("\0\0\0"sv, 100).header_bytes, 0U);
  EXPECT_EQ(LengthFraming{}.peek("\0\0\0"sv, 100).state, FrameState::kMore);
  EXPECT_EQ(LengthFraming{}.peek("\0\0\0\x60"sv, 99).state, FrameState::kMore);
  EXPECT_EQ(LengthFraming{}.peek("\0\0\0\x60"sv, 100).state, FrameState::kWhole);
  EXPECT_EQ(VarintFraming{}.peek("\xe0", 100).state, FrameState::kMore);
  EXPECT_EQ(VarintFraming{}.peek("\xe0\0"sv, 97).state, FrameState::kMore);
  EXPECT_EQ(VarintFraming{}.peek("\xe0\0"sv, 98).state, FrameState::kWhole);
}

TEST(LengthFraming, fewer_bytes_available_than_are_shown) {
  const LengthFraming fixed{.limit_bytes = SIZE_MAX};
  const VarintFraming varint{.limit_bytes = SIZE_MAX};
  for (size_t available = 0; available < 4; ++available) {
    EXPECT_EQ(fixed.peek("\0\0\0\0"sv, available).state, FrameState::kMore);
    EXPECT_EQ(varint.peek("\x80\x80\x80\0"sv, available).state, FrameState::kMore);
  }
}

TEST(LengthFraming, a_moved_body_is_empty_afterwards_and_long_ones_are_not_copied) {
  for (const size_t size : {size_t{0}, size_t{10}, size_t{30'000}}) {
    Buffer output;
    Buffer bodies[] = {Buffer(std::string(size, 'x')), Buffer(std::string(size, 'y'))};
    const char* data[] = {bodies[0].front().data(), bodies[1].front().data()};
    LengthFraming{}.append(output, std::move(bodies[0]));
    VarintFraming{}.append(output, std::move(bodies[1]));
    EXPECT_FALSE(bodies[0].holds_blocks() || bodies[1].holds_blocks());
    Buffer body;
    ASSERT_EQ(LengthFraming{}.next(output, body), FrameState::kWhole);
    EXPECT_EQ(body.to_string(), std::string(size, 'x'));
    EXPECT_TRUE(size <= kLargeBlockBytes || body.front().data() == data[0]);
    ASSERT_EQ(VarintFraming{}.next(output, body), FrameState::kWhole);
    EXPECT_EQ(body.to_string(), std::string(size, 'y'));
    EXPECT_TRUE(size <= kLargeBlockBytes || body.front().data() == data[1]);
    EXPECT_TRUE(output.empty());
  }
}

TEST(LengthFraming, a_moved_body_over_the_limit_stays_where_it_is) {
  Buffer output("before");
  Buffer body("four");
  EXPECT_THROW(LengthFraming{.limit_bytes = 3}.append(output, std::move(body)), std::invalid_argument);
  EXPECT_THROW(VarintFraming{.limit_bytes = 3}.append(output, std::move(body)), std::invalid_argument);
  EXPECT_EQ(output.to_string(), "before");
  EXPECT_EQ(body.to_string(), "four");
}

TEST(VarintFraming, a_length_in_more_bytes_than_it_needs) {
  const std::string message = "\x83\x80\x80\x80\x80\x80\x80\x80\x80\0abc"s;
  for (size_t part = 1; part <= message.size(); ++part) {
    Buffer input = test::in_parts(message, part);
    Buffer body;
    ASSERT_EQ(VarintFraming{}.next(input, body), FrameState::kWhole) << part;
    EXPECT_EQ(body.to_string(), "abc");
  }
}

TEST(VarintFraming, a_length_that_is_no_varint_of_64_bits) {
  for (const std::string& last : {"\x02"s, "\x80"s, "\xff\x01"s}) {
    const std::string message = std::string(9, '\xff') + last;
    EXPECT_EQ(VarintFraming{.limit_bytes = SIZE_MAX}.peek(message).state, FrameState::kTooLong);
    for (size_t part = 1; part <= message.size(); ++part) {
      Buffer input = test::in_parts(message, part);
      Buffer body("what was there before");
      EXPECT_EQ(VarintFraming{.limit_bytes = SIZE_MAX}.next(input, body), FrameState::kTooLong);
      EXPECT_EQ(input.to_string(), message);
      EXPECT_EQ(body.to_string(), "what was there before");
    }
  }
}

}  // namespace
}  // namespace peal
