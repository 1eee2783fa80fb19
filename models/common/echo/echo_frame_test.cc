// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/echo/echo_frame.h>

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

std::string framed(std::string_view body) {
  Buffer frame;
  append_echo_frame(frame, body);
  return frame.to_string();
}

// A buffer whose parts are the pieces, each in a block of its own.
Buffer in_parts(std::string_view bytes, size_t part_bytes) {
  Buffer chain;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(part_bytes, bytes.size()))) {
    const std::string_view part = bytes.substr(0, part_bytes);
    const auto size = static_cast<uint32_t>(part.size());
    chain.append(
        Buffer(BlockPool::here().wrap(share_bytes(std::string(part)), 0, size), 0, size));  // which is never copied
  }
  return chain;
}

std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(EchoFrame, the_header_is_the_length_big_endian) {
  EXPECT_EQ(framed("hello"), std::string("\0\0\0\5hello", 9));
  EXPECT_EQ(framed(""), std::string("\0\0\0\0", 4));
  const auto header = echo_header(0x01020384);
  for (size_t at = 0; at < 4; ++at) EXPECT_EQ(std::to_integer<int>(header[at]), (std::array{1, 2, 3, 0x84})[at]);
}

TEST(EchoFrame, a_frame_cut_at_every_place_before_an_unmapped_page) {
  const std::string frame = framed("hello, world");
  test::GuardedBytes guarded(frame.size());
  for (size_t size = 0; size <= frame.size(); ++size) {
    const EchoFramePeek found = peek_frame(as_bytes(guarded.hold(frame.substr(0, size))));
    EXPECT_EQ(found.state, size == frame.size() ? EchoFrameState::kWhole : EchoFrameState::kMore) << size;
    EXPECT_EQ(found.body_bytes, size < kEchoHeaderBytes ? 0U : 12U) << size;
  }
}

TEST(EchoFrame, the_maximum_and_one_more) {
  for (const uint32_t most : {0U, 1U, 100U, kEchoBodyMaxBytes, 0xfffffffeU}) {
    const auto within = echo_header(most);
    const auto beyond = echo_header(most + 1);
    EXPECT_EQ(peek_frame(within, most).state, most == 0 ? EchoFrameState::kWhole : EchoFrameState::kMore);
    EXPECT_EQ(peek_frame(beyond, most).state, EchoFrameState::kTooLarge);
    EXPECT_EQ(peek_frame(beyond, most).body_bytes, most + 1);
    Buffer input;
    input.append(beyond);
    Buffer body;
    EXPECT_EQ(EchoFrameDecoder(most).next(input, body), EchoFrameState::kTooLarge);
    EXPECT_EQ(input.size(), kEchoHeaderBytes) << "nothing is taken";
  }
  EXPECT_EQ(peek_frame(echo_header(0xffffffff), 0xffffffff).state, EchoFrameState::kMore);
}

TEST(EchoFrame, pipelined_frames_in_parts_of_every_size) {
  const std::vector<std::string> bodies = {"one", "", "three and more", std::string(700, 'x'), "", "last"};
  std::string stream;
  for (const std::string& body : bodies) stream += framed(body);
  const EchoFrameDecoder decoder;
  for (size_t part = 1; part <= stream.size(); part += part < 40 ? 1 : 97) {
    Buffer whole = in_parts(stream, part);
    Buffer same = in_parts(stream, part);
    Buffer body("what was there before");
    for (const std::string& expected : bodies) {
      ASSERT_EQ(decoder.next(whole, body), EchoFrameState::kWhole);
      ASSERT_EQ(body.to_string(), expected);
      ASSERT_EQ(decoder.next_frame(same, body), EchoFrameState::kWhole);
      ASSERT_EQ(body.to_string(), framed(expected));
    }
    EXPECT_EQ(decoder.next(whole, body), EchoFrameState::kMore);
    EXPECT_TRUE(whole.empty() && same.empty());
    EXPECT_FALSE(whole.holds_blocks());
  }
}

TEST(EchoFrame, bytes_that_arrive_one_by_one) {
  const std::string stream = framed("ab") + framed("") + framed("c");
  const EchoFrameDecoder decoder;
  Buffer input;
  std::string seen;
  for (const char byte : stream) {
    input.append(std::string_view(&byte, 1));
    for (Buffer body; decoder.next(input, body) == EchoFrameState::kWhole;) seen += "<" + body.to_string() + ">";
  }
  EXPECT_EQ(seen, "<ab><><c>");
  EXPECT_TRUE(input.empty());
}

TEST(EchoFrame, a_body_stays_in_the_blocks_it_arrived_in) {
  Buffer input(framed(std::string(1000, 'x')) + framed("y"));
  const char* arrived = input.front().data();
  Buffer body;
  ASSERT_EQ(EchoFrameDecoder().next(input, body), EchoFrameState::kWhole);
  EXPECT_EQ(body.front().data(), arrived + kEchoHeaderBytes);
  ASSERT_EQ(EchoFrameDecoder().next_frame(input, body), EchoFrameState::kWhole);
  EXPECT_EQ(body.front().data(), arrived + kEchoHeaderBytes + 1000);
}

TEST(EchoFrame, a_look_takes_nothing) {
  Buffer input = in_parts(framed("hello"), 3);
  const EchoFramePeek found = EchoFrameDecoder().peek(input);
  EXPECT_EQ(found.state, EchoFrameState::kWhole);
  EXPECT_EQ(found.frame_bytes(), 9U);
  EXPECT_EQ(input.view(found.frame_bytes()).substr(kEchoHeaderBytes), "hello");
}

TEST(EchoFrame, garbage_is_framed_or_refused) {
  std::mt19937 random(42);
  const EchoFrameDecoder decoder(64);
  for (int round = 0; round < 500; ++round) {
    std::string noise(200, '\0');
    for (char& byte : noise) byte = static_cast<char>(random() % 4 == 0 ? random() : 0);
    Buffer input = in_parts(noise, 1 + random() % 50);
    size_t taken = 0;
    EchoFrameState state = EchoFrameState::kWhole;
    while (state == EchoFrameState::kWhole) {
      Buffer body;
      state = decoder.next(input, body);
      EXPECT_LE(body.size(), 64U);
      if (state == EchoFrameState::kWhole) taken += kEchoHeaderBytes + body.size();
    }
    EXPECT_EQ(taken + input.size(), noise.size());
  }
}

}  // namespace
}  // namespace peal
