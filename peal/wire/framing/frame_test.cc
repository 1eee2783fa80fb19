// SPDX-License-Identifier: BSD-3-Clause
// Tests that are common to all framings. The tests of a single framing are in length_framing_test.cc and
// delimiter_framing_test.cc.
#include <peal/wire/framing/frame.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <peal/wire/framing/delimiter_framing.h>
#include <peal/wire/framing/length_framing.h>
#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

constexpr size_t kLimit = 200;

template <Framing Its>
Its with_limit(Its framing, size_t limit_bytes) {
  framing.limit_bytes = limit_bytes;
  return framing;
}

// Returns the bodies that next() takes from `input` until the result is not kWhole, at most 100.
template <Framing Its>
std::vector<std::string> take_all(const Its& framing, Buffer& input, FrameState& last) {
  std::vector<std::string> bodies;
  Buffer body;
  while (bodies.size() < 100 && (last = framing.next(input, body)) == FrameState::kWhole) {
    bodies.push_back(body.to_string());
  }
  return bodies;
}

// Returns true if next() and next_frame() refuse `input` and change neither buffer.
template <Framing Its>
bool is_refused(const Its& framing, Buffer& input) {
  const std::string before = input.to_string();
  Buffer body("what was there before");
  const bool refused = framing.next(input, body) == FrameState::kTooLong &&
                       framing.next_frame(input, body) == FrameState::kTooLong &&
                       framing.peek(input).state == FrameState::kTooLong;
  return refused && input.to_string() == before && body.to_string() == "what was there before";
}

bool operator==(const FramePeek& one, const FramePeek& other) {
  return one.state == other.state && one.header_bytes == other.header_bytes && one.body_bytes == other.body_bytes &&
         one.trailer_bytes == other.trailer_bytes;
}

struct Case {
  std::string name;
  std::variant<LengthFraming, VarintFraming, LineFraming, DelimiterFraming> framing;

  friend void PrintTo(const Case& shown, std::ostream* to) { *to << shown.name; }
};

class EveryFraming : public testing::TestWithParam<Case> {
 protected:
  // Calls `check` with the framing, with bodies that it can express, and with the stream of their messages.
  template <class Check>
  void with_stream(const Check& check) const {
    const std::vector<std::string> bodies = {"one", "", "three and more", std::string(kLimit, 'a'), "", "a\rb", "last"};
    std::visit(
        [&](const auto& framing) {
          std::string stream;
          for (const std::string& body : bodies) stream += test::framed(framing, body);
          check(framing, bodies, stream);
        },
        GetParam().framing);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Framings, EveryFraming,
    testing::Values(
        Case{"length_of_1", LengthFraming{.length_bytes = 1, .limit_bytes = kLimit}},
        Case{"length_of_2_little_endian", LengthFraming{.length_bytes = 2, .big_endian = false, .limit_bytes = kLimit}},
        Case{"length_of_3_that_counts_itself",
             LengthFraming{.length_bytes = 3, .counts_itself = true, .limit_bytes = kLimit}},
        Case{"length_of_4", LengthFraming{.limit_bytes = kLimit}},
        Case{"length_of_8_little_endian_that_counts_itself",
             LengthFraming{.length_bytes = 8, .big_endian = false, .counts_itself = true, .limit_bytes = kLimit}},
        Case{"varint", VarintFraming{.limit_bytes = kLimit}},  //
        Case{"lines", LineFraming{.limit_bytes = kLimit}},
        Case{"lines_with_crlf", LineFraming{.limit_bytes = kLimit, .ends_in_crlf = true}},
        Case{"delimiter_of_one_byte", DelimiterFraming{.delimiter = std::string(1, '\0'), .limit_bytes = kLimit}},
        Case{"delimiter_of_two_bytes", DelimiterFraming{.delimiter = "||", .limit_bytes = kLimit}},
        Case{"delimiter_that_bodies_almost_contain", DelimiterFraming{.delimiter = "aab", .limit_bytes = kLimit}},
        Case{"long_delimiter", DelimiterFraming{.delimiter = "--a long boundary--", .limit_bytes = kLimit}}),
    [](const auto& made) { return made.param.name; });

TEST_P(EveryFraming, a_stream_cut_in_two_at_every_byte) {
  with_stream([](const auto& framing, const std::vector<std::string>& bodies, const std::string& stream) {
    for (size_t cut = 0; cut <= stream.size(); ++cut) {
      Buffer input = test::in_parts(stream.substr(0, cut), stream.size());
      FrameState state = FrameState::kWhole;
      std::vector<std::string> seen = take_all(framing, input, state);
      ASSERT_EQ(state, FrameState::kMore) << cut;
      input.append(test::in_parts(stream.substr(cut), stream.size()));
      std::ranges::copy(take_all(framing, input, state), std::back_inserter(seen));
      ASSERT_EQ(seen, bodies) << cut;
      ASSERT_TRUE(state == FrameState::kMore && input.empty()) << cut;
    }
  });
}

TEST_P(EveryFraming, bytes_that_arrive_one_by_one) {
  with_stream([](const auto& framing, const std::vector<std::string>& bodies, const std::string& stream) {
    Buffer input;
    Buffer body;
    size_t arrived = 0;
    for (const std::string& expected : bodies) {
      const size_t frame_bytes = test::framed(framing, expected).size();
      for (size_t at = 0; at < frame_bytes; ++at) {
        ASSERT_EQ(framing.next(input, body), FrameState::kMore) << at << " bytes of " << frame_bytes;
        input.append(stream.substr(arrived++, 1));
      }
      ASSERT_EQ(framing.next(input, body), FrameState::kWhole);
      ASSERT_EQ(body.to_string(), expected);
      ASSERT_TRUE(input.empty());
    }
  });
}

TEST_P(EveryFraming, pipelined_messages_in_blocks_of_every_size) {
  with_stream([](const auto& framing, const std::vector<std::string>& bodies, const std::string& stream) {
    for (size_t part = 1; part <= stream.size(); ++part) {
      Buffer input = test::in_parts(stream, part);
      Buffer same = test::in_parts(stream, part);
      Buffer body("what was there before");
      for (const std::string& expected : bodies) {
        const FramePeek found = framing.peek(input);
        ASSERT_EQ(input.size(), same.size()) << "a look takes nothing";
        ASSERT_EQ(found.frame_bytes(), test::framed(framing, expected).size());
        ASSERT_EQ(framing.next(input, body), FrameState::kWhole) << part;
        ASSERT_EQ(body.to_string(), expected) << part;
        ASSERT_EQ(found.body_bytes, expected.size());
        ASSERT_EQ(framing.next_frame(same, body), FrameState::kWhole) << part;
        ASSERT_EQ(body.to_string(), test::framed(framing, expected)) << part;
      }
      ASSERT_EQ(framing.next(input, body), FrameState::kMore);
      ASSERT_EQ(body.to_string(), test::framed(framing, bodies.back())) << "kMore changes nothing";
      ASSERT_FALSE(input.holds_blocks() || same.holds_blocks());
    }
  });
}

TEST_P(EveryFraming, a_message_cut_at_every_place_before_an_unmapped_page) {
  with_stream([](const auto& framing, const std::vector<std::string>& bodies, const std::string&) {
    for (const std::string& body : bodies) {
      const std::string frame = test::framed(framing, body);
      test::GuardedBytes guarded(frame.size());
      for (size_t size = 0; size <= frame.size(); ++size) {
        const FramePeek found = framing.peek(guarded.hold(frame.substr(0, size)));
        ASSERT_EQ(found.state, size == frame.size() ? FrameState::kWhole : FrameState::kMore) << size;
      }
      const FramePeek found = framing.peek(guarded.hold(frame));
      EXPECT_EQ(frame.substr(found.header_bytes, found.body_bytes), body);
      EXPECT_EQ(found.frame_bytes(), frame.size());
    }
  });
}

TEST_P(EveryFraming, a_look_at_the_first_part_of_what_has_arrived) {
  with_stream([](const auto& framing, const std::vector<std::string>& bodies, const std::string& stream) {
    const FramePeek whole = framing.peek(std::string_view(stream));
    const size_t frame_bytes = test::framed(framing, bodies.front()).size();
    for (size_t size = 0; size <= stream.size(); ++size) {
      const FramePeek found = framing.peek(std::string_view(stream).substr(0, size), stream.size());
      if (size >= frame_bytes || found.state != FrameState::kMore) {
        ASSERT_TRUE(found == whole) << size;
      } else {
        ASSERT_TRUE(found == FramePeek{}) << size;
      }
    }
  });
}

TEST_P(EveryFraming, a_body_of_the_limit_and_one_byte_more) {
  with_stream([](const auto& any, const std::vector<std::string>&, const std::string&) {
    for (const size_t limit : {size_t{0}, size_t{1}, size_t{7}, kLimit}) {
      const auto framing = with_limit(any, limit);
      const auto wider = with_limit(any, limit + 1);
      const std::string longest(limit, 'x');
      const std::string beyond(limit + 1, 'x');
      Buffer output("before");
      EXPECT_THROW(framing.append(output, beyond), std::invalid_argument);
      EXPECT_EQ(output.to_string(), "before");
      const std::string stream = test::framed(framing, longest) + test::framed(wider, beyond);
      for (size_t part = 1; part <= stream.size(); ++part) {
        Buffer input = test::in_parts(stream, part);
        Buffer body;
        ASSERT_EQ(framing.next(input, body), FrameState::kWhole) << limit << " in parts of " << part;
        ASSERT_EQ(body.to_string(), longest);
        ASSERT_TRUE(is_refused(framing, input)) << limit << " in parts of " << part;
        ASSERT_EQ(wider.next(input, body), FrameState::kWhole);
        ASSERT_EQ(body.to_string(), beyond);
      }
    }
  });
}

TEST_P(EveryFraming, no_limit) {
  with_stream([](const auto& any, const std::vector<std::string>& bodies, const std::string& stream) {
    for (const size_t below : {0, 1, 2, 9}) {
      const auto framing = with_limit(any, SIZE_MAX - below);
      for (const size_t part : {size_t{1}, size_t{100}, stream.size()}) {
        Buffer input = test::in_parts(stream, part);
        FrameState state = FrameState::kWhole;
        EXPECT_EQ(take_all(framing, input, state), bodies);
        EXPECT_EQ(state, FrameState::kMore);
      }
    }
  });
}

TEST_P(EveryFraming, a_body_stays_in_the_blocks_it_arrived_in) {
  with_stream([](const auto& framing, const std::vector<std::string>&, const std::string&) {
    const std::string long_frame = test::framed(framing, std::string(kLimit, 'x'));
    const size_t header_bytes = framing.peek(std::string_view(long_frame)).header_bytes;
    Buffer input(long_frame + test::framed(framing, "y"));
    input.append(test::in_parts(test::framed(framing, "z"), 100));
    ASSERT_FALSE(input.is_contiguous());
    const char* arrived = input.front().data();
    Buffer body;
    ASSERT_EQ(framing.next(input, body), FrameState::kWhole);
    EXPECT_EQ(body.front().data(), arrived + header_bytes);
    ASSERT_EQ(framing.next_frame(input, body), FrameState::kWhole);
    EXPECT_EQ(body.front().data(), arrived + long_frame.size());
    arrived = input.front().data();
    ASSERT_EQ(framing.next(input, body), FrameState::kWhole);
    EXPECT_EQ(body.to_string(), "z");
    EXPECT_EQ(body.front().data(), arrived + framing.peek(std::string_view(test::framed(framing, "z"))).header_bytes);
  });
}

TEST_P(EveryFraming, a_body_that_is_a_part_of_the_output) {
  with_stream([](const auto& framing, const std::vector<std::string>&, const std::string&) {
    for (const size_t size : {size_t{1}, size_t{150}, kLimit}) {
      const std::string body(size, 'x');
      Buffer output(body);
      for (int at = 0; at < 5; ++at) framing.append(output, output.front().substr(0, size));
      output.consume(size);
      FrameState state = FrameState::kWhole;
      EXPECT_EQ(take_all(framing, output, state), std::vector<std::string>(5, body));
    }
  });
}

TEST_P(EveryFraming, noise_is_framed_or_refused) {
  with_stream([](const auto& any, const std::vector<std::string>&, const std::string& stream) {
    const auto framing = with_limit(any, 16);
    std::mt19937 random(42);
    size_t taken_in_all = 0;
    for (int round = 0; round < 300; ++round) {
      std::string noise(100, '\0');
      for (char& byte : noise) byte = random() % 3 == 0 ? stream[random() % stream.size()] : '\0';
      for (char& byte : noise) byte = random() % 30 == 0 ? static_cast<char>(random()) : byte;
      Buffer input = test::in_parts(noise, 1 + random() % 50);
      std::string_view left = noise;
      FramePeek found = framing.peek(left);
      for (; found.state == FrameState::kWhole; found = framing.peek(left)) {
        Buffer body;
        ASSERT_EQ(framing.next(input, body), FrameState::kWhole);
        ASSERT_LE(body.size(), 16U);
        ASSERT_EQ(body.to_string(), left.substr(found.header_bytes, found.body_bytes));
        left.remove_prefix(found.frame_bytes());
        ++taken_in_all;
      }
      Buffer body("what was there before");
      ASSERT_EQ(framing.next(input, body), found.state);
      ASSERT_EQ(body.to_string(), "what was there before");
      ASSERT_EQ(input.to_string(), left);
    }
    constexpr bool kDelimiter = std::is_same_v<decltype(framing), const DelimiterFraming>;
    EXPECT_TRUE(kDelimiter || taken_in_all > 0) << "the noise has messages";
  });
}

TEST(Frame, the_error_of_a_message_that_breaks_its_framing) {
  EXPECT_EQ(trouble_of(FrameState::kTooLong), Trouble::kMessageTooLong);
  EXPECT_EQ(trouble_of(FrameState::kTooShort), Trouble::kMessageTooShort);
}

}  // namespace
}  // namespace peal
