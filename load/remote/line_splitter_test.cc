// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/line_splitter.h>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

TEST(LineSplitter, lines_come_out_whole_wherever_the_bytes_were_cut) {
  const std::string_view text = "one\n\ntwo three\nfour\n";
  for (size_t step = 1; step <= text.size(); ++step) {
    LineSplitter lines(100);
    for (size_t at = 0; at < text.size(); at += step) lines.add(text.substr(at, step));
    for (const std::string_view expected : {"one", "", "two three", "four"}) {
      const std::optional<SplitLine> line = lines.next();
      ASSERT_TRUE(line.has_value());
      EXPECT_EQ(line->text, expected);
      EXPECT_FALSE(line->is_cut);
    }
    EXPECT_FALSE(lines.next());
  }
}

TEST(LineSplitter, bytes_without_a_line_end_are_no_line) {
  LineSplitter lines(100);
  lines.add("half a li");
  EXPECT_FALSE(lines.has_line());
  EXPECT_FALSE(lines.next());
  EXPECT_EQ(lines.rest(), "half a li");
  lines.add("ne\nand");
  EXPECT_EQ(lines.next()->text, "half a line");
  EXPECT_EQ(lines.rest(), "and");
}

TEST(LineSplitter, a_line_of_the_longest_length_is_not_cut) {
  LineSplitter lines(5);
  lines.add("12345\n");
  const SplitLine line = lines.next().value();
  EXPECT_EQ(line.text, "12345");
  EXPECT_FALSE(line.is_cut);
}

TEST(LineSplitter, a_line_that_is_too_long_is_cut_and_the_next_one_is_whole) {
  LineSplitter lines(5);
  for (int i = 0; i < 1000; ++i) lines.add("123456789");
  EXPECT_EQ(lines.rest(), "12345") << "only the beginning is kept";
  lines.add("0\nnext\n");
  const SplitLine line = lines.next().value();
  EXPECT_EQ(line.text, "12345");
  EXPECT_TRUE(line.is_cut);
  const SplitLine next = lines.next().value();
  EXPECT_EQ(next.text, "next");
  EXPECT_FALSE(next.is_cut);
}

TEST(LineSplitter, every_byte_except_a_line_end_is_text) {
  LineSplitter lines(100);
  lines.add(std::string_view("\0\r\xff\t\n", 5));
  EXPECT_EQ(lines.next()->text, std::string_view("\0\r\xff\t", 4));
}

}  // namespace
}  // namespace peal::load
