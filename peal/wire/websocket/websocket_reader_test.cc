// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_reader.h>

#include <random>

#include <gtest/gtest.h>

#include <tests/support/websocket_frames.h>

namespace peal {
namespace {

using test::client_frame;
using test::read_websocket;
using test::server_frame;
using enum WebSocketOpcode;

constexpr auto kServer = WebSocketRole::kServer;
constexpr auto kClient = WebSocketRole::kClient;

TEST(WebSocketReader, messages_and_control_frames_between_their_fragments) {
  const std::string bytes =
      client_frame(kText, "Hello") + client_frame(kText, "one ", false) + client_frame(kPing, "here?") +
      client_frame(kContinuation, "", false) + client_frame(kContinuation, "two ", false) + client_frame(kPong, "") +
      client_frame(kContinuation, "three") + client_frame(kBinary, std::string("\0\xff", 2)) + client_frame(kText, "") +
      client_frame(kClose,
                   "\x03\xe8"
                   "done") +
      client_frame(kText, "too late");
  EXPECT_EQ(read_websocket(kServer, bytes), "text Hello|ping here?|pong |text one two three|binary " +
                                                std::string("\0\xff", 2) +
                                                "|text |close \x03\xe8"
                                                "done|");
}

// Reads the bytes in one piece, in every pair of pieces, and byte by byte. The events must always be the same.
TEST(WebSocketReader, wherever_the_bytes_are_cut) {
  const std::string bytes = client_frame(kText,
                                         "\xe2\x82\xac"
                                         "1",
                                         false) +
                            client_frame(kPing, "p") + client_frame(kContinuation, "\xc3\xa4") +
                            client_frame(kBinary, std::string(200, 'b')) + client_frame(kClose, "\x0f\xa0");
  const std::string whole = read_websocket(kServer, bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    ASSERT_EQ(read_websocket(kServer, bytes, {.cuts = {cut}}), whole) << cut;
  }
  EXPECT_EQ(read_websocket(kServer, bytes, {.cuts = test::every_byte(bytes)}), whole);
}

TEST(WebSocketReader, a_server_s_frame_is_shown_where_it_lies) {
  WebSocketWorkspace workspace;
  WebSocketReader reader(kClient, 1000, workspace);
  const std::string bytes = server_frame(kText, "in place") + "\x81";
  EXPECT_EQ(reader.step(bytes), bytes.size() - 1);
  EXPECT_EQ(reader.event(), WebSocketEvent::kText);
  EXPECT_EQ(reader.payload().data(), bytes.data() + 2);
  EXPECT_FALSE(reader.busy());
  EXPECT_EQ(reader.step("\x81"), 1u);
  EXPECT_TRUE(reader.busy());
}

struct Violation {
  const char* what;
  std::string bytes;
  WebSocketFault fault;
  uint16_t code;
};

std::vector<Violation> violations() {
  const std::string long_ping = std::string("\x89\xfe\x00\x7e", 4) + "zzzz";
  return {
      {"unmasked", server_frame(kText, "x"), WebSocketFault::kUnmasked, 1002},
      {"RSV1 without the extension", "\xc1\x80zzzz", WebSocketFault::kReservedBits, 1002},
      {"RSV2", "\xa1\x80zzzz", WebSocketFault::kReservedBits, 1002},
      {"RSV3", "\x91\x80zzzz", WebSocketFault::kReservedBits, 1002},
      {"opcode 3", "\x83\x80zzzz", WebSocketFault::kUnknownOpcode, 1002},
      {"opcode 11", "\x8b\x80zzzz", WebSocketFault::kUnknownOpcode, 1002},
      {"a ping in fragments", client_frame(kPing, "x", false), WebSocketFault::kFragmentedControl, 1002},
      {"a ping of 126 bytes", long_ping, WebSocketFault::kLongControl, 1002},
      {"16 bits for 125", std::string("\x82\xfe\x00\x7dzzzz", 8), WebSocketFault::kLengthForm, 1002},
      {"64 bits for 65535", std::string("\x82\xff\0\0\0\0\0\0\xff\xffzzzz", 14), WebSocketFault::kLengthForm, 1002},
      {"2^63", std::string("\x82\xff\x80\0\0\0\0\0\0\0zzzz", 14), WebSocketFault::kLengthForm, 1002},
      {"a continuation first", client_frame(kContinuation, "x"), WebSocketFault::kNothingToContinue, 1002},
      {"a continuation after the last", client_frame(kText, "x") + client_frame(kContinuation, "y"),
       WebSocketFault::kNothingToContinue, 1002},
      {"a message inside another", client_frame(kText, "x", false) + client_frame(kText, "y"),
       WebSocketFault::kUnfinishedMessage, 1002},
      {"a close of one byte", client_frame(kClose, "\x03"), WebSocketFault::kClosePayload, 1002},
      {"close code 1005", client_frame(kClose, "\x03\xed"), WebSocketFault::kCloseCode, 1002},
      {"close code 999", client_frame(kClose, "\x03\xe7"), WebSocketFault::kCloseCode, 1002},
      {"close code 1015", client_frame(kClose, "\x03\xf7"), WebSocketFault::kCloseCode, 1002},
      {"a close reason that is no text", client_frame(kClose, "\x03\xe8\xff"), WebSocketFault::kBadUtf8, 1007},
      {"text that is none", client_frame(kText, "\xff"), WebSocketFault::kBadUtf8, 1007},
      {"text that ends in a character", client_frame(kText, "\xe2\x82"), WebSocketFault::kBadUtf8, 1007},
      {"text in fragments that ends in a character",
       client_frame(kText, "x", false) + client_frame(kContinuation, "\xe2\x82"), WebSocketFault::kBadUtf8, 1007},
      {"a surrogate", client_frame(kText, "\xed\xa0\x80"), WebSocketFault::kBadUtf8, 1007},
      {"more than the limit", std::string("\x82\xfe\x03\xe9zzzz", 8), WebSocketFault::kTooLarge, 1009},
      {"2^63 - 1", std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xffzzzz", 14), WebSocketFault::kTooLarge, 1009},
      {"more than the limit in fragments",
       client_frame(kBinary, std::string(600, 'x'), false) + std::string("\x80\xfe\x01\x91zzzz", 8),
       WebSocketFault::kTooLarge, 1009},
  };
}

TEST(WebSocketReader, violations_and_the_code_each_gets) {
  for (const Violation& violation : violations()) {
    const std::string good = client_frame(kPing, "good");
    const std::string expected =
        "ping good|" + std::string(violation.what == std::string("a continuation after the last") ? "text x|" : "") +
        "fault: " + std::string(to_string(violation.fault));
    EXPECT_EQ(close_code_of(violation.fault), violation.code) << violation.what;
    const std::string bytes = good + violation.bytes;
    EXPECT_EQ(read_websocket(kServer, bytes), expected) << violation.what;
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      ASSERT_EQ(read_websocket(kServer, bytes, {.cuts = {cut}}), expected) << violation.what << " cut at " << cut;
    }
  }
  EXPECT_EQ(read_websocket(kClient, client_frame(kText, "x")),
            "fault: " + std::string(to_string(WebSocketFault::kMasked)));
}

TEST(WebSocketReader, wrong_text_is_refused_before_its_frame_is_there) {
  WebSocketWorkspace workspace;
  WebSocketReader reader(kServer, 1000, workspace);
  const std::string bytes = client_frame(kText, "good\xf4\x90 and much more that never comes");
  reader.step(std::string_view(bytes).substr(0, 11));
  EXPECT_EQ(reader.fault(), WebSocketFault::kNone);
  reader.step(std::string_view(bytes).substr(11, 1));
  EXPECT_EQ(reader.fault(), WebSocketFault::kBadUtf8);
}

TEST(WebSocketReader, messages_of_exactly_the_limit) {
  const std::string text(1000, 'x');
  EXPECT_EQ(read_websocket(kServer, client_frame(kText, text)), "text " + text + "|");
  EXPECT_EQ(read_websocket(kServer, client_frame(kText, text.substr(0, 999), false) + client_frame(kContinuation, "x")),
            "text " + text + "|");
}

// The examples of RFC 7692 7.2.3.1 to 7.2.3.6.
TEST(WebSocketReader, compressed_examples_of_the_standard) {
  const auto rsv1 = [](std::string frame) {
    frame[0] = static_cast<char>(frame[0] | 0x40);
    return frame;
  };
  const std::string hello("\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
  const test::WebSocketRead keeps{.deflate = WebSocketDeflateTerms{}};
  EXPECT_EQ(read_websocket(kClient, rsv1(server_frame(kText, hello)), keeps), "text Hello|");
  EXPECT_EQ(
      read_websocket(
          kClient, rsv1(server_frame(kText, hello.substr(0, 3), false)) + server_frame(kContinuation, hello.substr(3)),
          keeps),
      "text Hello|");
  // The second message refers to the first one.
  const std::string again("\xf2\x00\x11\x00\x00", 5);
  EXPECT_EQ(read_websocket(kClient, rsv1(server_frame(kText, hello)) + rsv1(server_frame(kText, again)), keeps),
            "text Hello|text Hello|");
  const test::WebSocketRead forgets{.deflate = WebSocketDeflateTerms{.server_no_context_takeover = true}};
  EXPECT_EQ(read_websocket(kClient, rsv1(server_frame(kText, hello)) + rsv1(server_frame(kText, again)), forgets),
            "text Hello|fault: compressed data that is broken");
  const std::string stored("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00", 11);
  EXPECT_EQ(read_websocket(kClient, rsv1(server_frame(kText, stored)), keeps), "text Hello|");
  const std::string final_block("\xf3\x48\xcd\xc9\xc9\x07\x00\x00", 8);
  EXPECT_EQ(read_websocket(kClient, rsv1(server_frame(kText, final_block)) + rsv1(server_frame(kText, again)), keeps),
            "text Hello|text Hello|");
  const std::string two_blocks("\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", 13);
  EXPECT_EQ(read_websocket(kClient, rsv1(server_frame(kText, two_blocks)), keeps), "text Hello|");
}

TEST(WebSocketReader, compressed_messages_that_are_refused) {
  const test::WebSocketRead deflated{.deflate = WebSocketDeflateTerms{.client_no_context_takeover = true}};
  const auto compressed = [](std::string_view plain) {
    WebSocketDeflater deflater(15, false, {});
    std::string frame = client_frame(kText, deflater.deflate(plain));
    frame[0] = static_cast<char>(frame[0] | 0x40);
    return frame;
  };
  EXPECT_EQ(read_websocket(kServer, compressed(std::string(1000, 'x')), deflated),
            "text " + std::string(1000, 'x') + "|");
  EXPECT_EQ(read_websocket(kServer, compressed(std::string(1001, 'x')), deflated), "fault: a message beyond the limit");
  EXPECT_EQ(read_websocket(kServer, compressed(std::string(5'000'000, 'x')), deflated),
            "fault: a message beyond the limit");
  EXPECT_EQ(read_websocket(kServer, compressed("no text: \xff"), deflated), "fault: text that is not UTF-8");
  EXPECT_EQ(read_websocket(kServer, "\xc1\x81zzzz\x85", deflated), "fault: compressed data that is broken");
  // Random bytes become longer when they are compressed. A message within the limit is accepted all the same.
  std::mt19937 random(1);
  std::string noise;
  for (int at = 0; at < 1000; ++at) noise += static_cast<char>(random() & 0x7f);
  EXPECT_EQ(read_websocket(kServer, compressed(noise), deflated), "text " + noise + "|");
}

TEST(WebSocketReader, frames_made_at_random_and_cut_at_random) {
  std::mt19937 random(7);
  const auto up_to = [&](size_t most) { return random() % (most + 1); };
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    std::string expected;
    for (size_t messages = up_to(5); messages > 0; --messages) {
      std::string text;
      const size_t fragments = up_to(3);
      for (size_t at = 0; at <= fragments; ++at) {
        const std::string part(up_to(300), static_cast<char>('a' + up_to(25)));
        text += part;
        bytes += client_frame(at == 0 ? kBinary : kContinuation, part, at == fragments);
        if (up_to(3) == 0 && at < fragments) {
          bytes += client_frame(kPing, part.substr(0, 100));
          expected += "ping " + part.substr(0, 100) + "|";
        }
      }
      expected += text.size() > 1000 ? "" : "binary " + text + "|";
      if (text.size() > 1000) {
        expected += "fault: a message beyond the limit";
        break;
      }
    }
    std::vector<size_t> cuts;
    for (size_t cut = 0; cut < bytes.size(); cut += 1 + up_to(200)) cuts.push_back(cut);
    ASSERT_EQ(read_websocket(kServer, bytes, {.cuts = cuts}), expected) << round;
  }
}

}  // namespace
}  // namespace peal
