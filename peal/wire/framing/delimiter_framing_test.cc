// SPDX-License-Identifier: BSD-3-Clause
// Tests of the framings with a delimiter. frame_test.cc has the tests that are common to all framings.
#include <peal/wire/framing/delimiter_framing.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using namespace std::string_literals;

constexpr FrameState kWhole = FrameState::kWhole;
constexpr FrameState kMore = FrameState::kMore;
constexpr FrameState kTooLong = FrameState::kTooLong;

struct Read {
  std::vector<std::string> bodies;
  FrameState last = kMore;  // the result after which the reading stopped
  std::string left;
  bool operator==(const Read&) const = default;
};

template <Framing Its>
Read read_all(const Its& framing, Buffer input) {
  Read read;
  Buffer body;
  while (read.bodies.size() < 100 && (read.last = framing.next(input, body)) == kWhole) {
    read.bodies.push_back(body.to_string());
  }
  read.left = input.to_string();
  return read;
}

template <Framing Its>
void expect_read(const Its& framing, std::string_view stream, const Read& expected) {
  for (size_t part = 1; part <= stream.size(); ++part) {
    const Read read = read_all(framing, test::in_parts(stream, part));
    EXPECT_EQ(read.bodies, expected.bodies) << stream << " in parts of " << part;
    EXPECT_EQ(read.last, expected.last) << stream << " in parts of " << part;
    EXPECT_EQ(read.left, expected.left) << stream << " in parts of " << part;
  }
}

TEST(LineFraming, where_lines_end) {
  expect_read(LineFraming{}, "a\nb\r\nc", {{"a", "b"}, kMore, "c"});
  expect_read(LineFraming{}, "\n\r\n\n", {{"", "", ""}, kMore, ""});
  expect_read(LineFraming{}, "a\r\r\nb", {{"a\r"}, kMore, "b"});
  expect_read(LineFraming{}, "\ra\rb\n\r", {{"\ra\rb"}, kMore, "\r"});
  expect_read(LineFraming{}, "\n\ra\n", {{"", "\ra"}, kMore, ""});
  expect_read(LineFraming{}, "\0\xff\n"s, {{"\0\xff"s}, kMore, ""});
}

TEST(LineFraming, the_limit_does_not_count_the_end_of_the_line) {
  const LineFraming framing{.limit_bytes = 3};
  expect_read(framing, "abc\n", {{"abc"}, kMore, ""});
  expect_read(framing, "abc\r\n", {{"abc"}, kMore, ""});
  expect_read(framing, "ab\r\r\n", {{"ab\r"}, kMore, ""});
  expect_read(framing, "abc", {{}, kMore, "abc"});
  expect_read(framing, "abc\r", {{}, kMore, "abc\r"});
  expect_read(framing, "ab\r\r", {{}, kMore, "ab\r\r"});
}

TEST(LineFraming, a_line_over_the_limit_is_refused_before_its_end) {
  const LineFraming framing{.limit_bytes = 3};
  for (const std::string& line : {"abcd"s, "abc\rx"s, "abc\r\r"s, "\r\r\r\r\r"s, "abcd\n"s, "abcd\r\n"s, "abc\r\r\n"s,
                                  "abcd and much more than a few bytes\nabc\n"s}) {
    EXPECT_EQ(framing.peek(line).state, kTooLong) << line;
    expect_read(framing, "1\n" + line, {{"1"}, kTooLong, line});
  }
  expect_read(LineFraming{.limit_bytes = 0}, "\r\n\n\rx", {{"", ""}, kTooLong, "\rx"});
}

TEST(LineFraming, the_end_that_is_written) {
  Buffer output;
  LineFraming{}.append(output, "a");
  LineFraming{.ends_in_crlf = true}.append(output, "b");
  LineFraming{}.append(output, "");
  EXPECT_EQ(output.to_string(), "a\nb\r\n\n");
}

TEST(LineFraming, a_line_that_ends_in_cr_keeps_it) {
  for (const bool ends_in_crlf : {true, false}) {
    const LineFraming framing{.ends_in_crlf = ends_in_crlf};
    Buffer output;
    framing.append(output, "a\r");
    framing.append(output, "\r");
    EXPECT_EQ(output.to_string(), "a\r\r\n\r\r\n");
    EXPECT_EQ(read_all(framing, std::move(output)), (Read{{"a\r", "\r"}, kMore, ""}));
  }
}

TEST(LineFraming, a_line_with_lf_is_not_written) {
  Buffer output("before");
  for (const char* line : {"\n", "a\nb", "a\r\n"}) {
    EXPECT_THROW(LineFraming{}.append(output, line), std::invalid_argument);
    EXPECT_THROW(LineFraming{.ends_in_crlf = true}.append(output, line), std::invalid_argument);
  }
  EXPECT_EQ(output.to_string(), "before");
}

TEST(DelimiterFraming, the_first_of_overlapping_delimiters_ends_the_body) {
  expect_read(DelimiterFraming{"aab"}, "aaab", {{"a"}, kMore, ""});
  expect_read(DelimiterFraming{"aab"}, "aaaaabaabaa", {{"aaa", ""}, kMore, "aa"});
  expect_read(DelimiterFraming{"||"}, "a|||b||", {{"a", "|b"}, kMore, ""});
  expect_read(DelimiterFraming{"abab"}, "xababab", {{"x"}, kMore, "ab"});
  expect_read(DelimiterFraming{"\r\n"}, "a\nb\r\r\nc\r", {{"a\nb\r"}, kMore, "c\r"});
}

TEST(DelimiterFraming, a_body_over_the_limit_is_refused_before_its_end) {
  const DelimiterFraming framing{.delimiter = "||", .limit_bytes = 3};
  expect_read(framing, "abc||", {{"abc"}, kMore, ""});
  expect_read(framing, "abc|", {{}, kMore, "abc|"});
  for (const std::string& body : {"abcde"s, "abc|d"s, "abcd|"s, "abcd||"s, "abcd and much more||abc||"s}) {
    EXPECT_EQ(framing.peek(body).state, kTooLong) << body;
    expect_read(framing, "1||" + body, {{"1"}, kTooLong, body});
  }
  // A delimiter may begin at the last byte of the contiguous part.
  EXPECT_EQ(framing.peek("abcd").state, kMore);
  expect_read(DelimiterFraming{.delimiter = ";", .limit_bytes = 0}, ";;x", {{"", ""}, kTooLong, "x"});
}

// Returns all strings that consist of `size` letters a and b.
std::vector<std::string> texts(size_t size) {
  std::vector<std::string> all;
  for (unsigned bits = 0; bits < 1U << size; ++bits) {
    std::string text(size, 'a');
    for (size_t at = 0; at < size; ++at) text[at] = (bits >> at & 1) != 0 ? 'b' : 'a';
    all.push_back(text);
  }
  return all;
}

void expect_written_or_refused(const DelimiterFraming& framing, const std::string& body) {
  Buffer output;
  if ((body + framing.delimiter).find(framing.delimiter) == body.size()) {
    framing.append(output, body);
    framing.append(output, body);
    EXPECT_EQ(read_all(framing, std::move(output)), (Read{{body, body}, kMore, ""})) << body;
  } else {
    EXPECT_THROW(framing.append(output, body), std::invalid_argument) << body << " and " << framing.delimiter;
    EXPECT_FALSE(output.holds_blocks());
  }
}

TEST(DelimiterFraming, a_body_is_written_only_if_it_is_read_back) {
  for (size_t delimiter_bytes = 1; delimiter_bytes <= 4; ++delimiter_bytes) {
    for (const std::string& delimiter : texts(delimiter_bytes)) {
      const DelimiterFraming framing{.delimiter = delimiter};
      for (size_t body_bytes = 0; body_bytes <= 5; ++body_bytes) {
        for (const std::string& body : texts(body_bytes)) expect_written_or_refused(framing, body);
      }
    }
  }
}

TEST(DelimiterFraming, an_empty_delimiter_throws) {
  const DelimiterFraming framing;
  Buffer input("input");
  Buffer body("body");
  EXPECT_THROW(framing.peek("input"), std::invalid_argument);
  EXPECT_THROW(framing.peek(input), std::invalid_argument);
  EXPECT_THROW(framing.next(input, body), std::invalid_argument);
  EXPECT_THROW(framing.next_frame(input, body), std::invalid_argument);
  EXPECT_THROW(framing.append(input, "x"), std::invalid_argument);
  EXPECT_EQ(input.to_string(), "input");
  EXPECT_EQ(body.to_string(), "body");
}

TEST(DelimiterFraming, blocks_behind_a_whole_message_are_not_joined) {
  Buffer input = test::in_parts("one||two||", 5);
  const char* arrived = input.front().data();
  EXPECT_EQ(DelimiterFraming{"||"}.peek(input).state, kWhole);
  EXPECT_EQ(input.front().data(), arrived);
  EXPECT_EQ(input.front(), "one||");
  Buffer lines = test::in_parts("one\r\ntwo\r\n", 5);
  EXPECT_EQ(LineFraming{}.peek(lines).state, kWhole);
  EXPECT_EQ(lines.front(), "one\r\n");
}

TEST(DelimiterFraming, no_more_than_the_limit_is_joined) {
  Buffer input = test::in_parts(std::string(1000, 'x'), 10);
  EXPECT_EQ((DelimiterFraming{.delimiter = "||", .limit_bytes = 50}.peek(input).state), kTooLong);
  EXPECT_LE(input.front().size(), 60U);
  EXPECT_EQ(input.to_string(), std::string(1000, 'x'));
}

}  // namespace
}  // namespace peal
