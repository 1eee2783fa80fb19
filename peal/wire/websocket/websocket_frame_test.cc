// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_frame.h>

#include <array>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using namespace std::string_view_literals;

std::string frame(const WebSocketHead& head, std::string_view payload) {
  Buffer output;
  append_websocket_frame(output, head, payload);
  return output.to_string();
}

uint32_t key_of(std::string_view bytes) {
  uint32_t key;
  std::memcpy(&key, bytes.data(), sizeof key);
  return key;
}

// The examples of RFC 6455 5.7.
TEST(WebSocketFrame, examples_of_the_standard) {
  const uint32_t key = key_of("\x37\xfa\x21\x3d");
  EXPECT_EQ(frame({}, "Hello"), "\x81\x05Hello");
  EXPECT_EQ(frame({.masked = true, .key = key}, "Hello"), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  EXPECT_EQ(frame({.fin = false}, "Hel"), "\x01\x03Hel");
  EXPECT_EQ(frame({.opcode = WebSocketOpcode::kContinuation}, "lo"), "\x80\x02lo"sv);
  EXPECT_EQ(frame({.opcode = WebSocketOpcode::kPing}, "Hello"), "\x89\x05Hello");
  EXPECT_EQ(frame({.opcode = WebSocketOpcode::kPong, .masked = true, .key = key}, "Hello"),
            "\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  const std::string large(65536, 'x');
  EXPECT_EQ(frame({.opcode = WebSocketOpcode::kBinary}, large.substr(0, 256)),
            std::string("\x82\x7e\x01\x00", 4) + large.substr(0, 256));
  EXPECT_EQ(frame({.opcode = WebSocketOpcode::kBinary}, large),
            std::string("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10) + large);
}

TEST(WebSocketFrame, heads_are_read_as_they_were_written) {
  for (const uint64_t length : {0UL, 1UL, 125UL, 126UL, 127UL, 65535UL, 65536UL, 1UL << 40, (1UL << 63) - 1}) {
    for (const bool masked : {false, true}) {
      const WebSocketHead written{.opcode = WebSocketOpcode::kBinary,
                                  .fin = false,
                                  .compressed = true,
                                  .masked = masked,
                                  .key = masked ? 0x01020304U : 0,
                                  .payload_bytes = length};
      std::array<char, kWebSocketHeadBytes> bytes;
      const size_t size = write_websocket_head(bytes.data(), written);
      EXPECT_EQ(websocket_head_bytes(bytes[1]), size);
      test::GuardedBytes guarded(size);
      WebSocketHead head;
      ASSERT_EQ(read_websocket_head(guarded.hold({bytes.data(), size}).data(),
                                    masked ? WebSocketRole::kServer : WebSocketRole::kClient, true, head),
                WebSocketFault::kNone);
      EXPECT_EQ(head.opcode, WebSocketOpcode::kBinary);
      EXPECT_FALSE(head.fin);
      EXPECT_TRUE(head.compressed);
      EXPECT_EQ(head.key, written.key);
      EXPECT_EQ(head.payload_bytes, length);
    }
  }
}

struct BadHead {
  std::string_view bytes;
  WebSocketRole reader;
  WebSocketFault fault;
};

TEST(WebSocketFrame, heads_that_break_the_rules) {
  constexpr auto kServer = WebSocketRole::kServer;
  constexpr auto kClient = WebSocketRole::kClient;
  const BadHead cases[] = {
      {"\x81\x05"sv, kServer, WebSocketFault::kUnmasked},
      {"\x81\x85zzzz"sv, kClient, WebSocketFault::kMasked},
      {"\xa1\x01"sv, kClient, WebSocketFault::kReservedBits},
      {"\x91\x01"sv, kClient, WebSocketFault::kReservedBits},
      {"\xc1\x01"sv, kClient, WebSocketFault::kReservedBits},
      {"\x83\x01"sv, kClient, WebSocketFault::kUnknownOpcode},
      {"\x87\x01"sv, kClient, WebSocketFault::kUnknownOpcode},
      {"\x8b\x01"sv, kClient, WebSocketFault::kUnknownOpcode},
      {"\x8f\x01"sv, kClient, WebSocketFault::kUnknownOpcode},
      {"\x09\x01"sv, kClient, WebSocketFault::kFragmentedControl},
      {"\x89\x7e\x00\x7e"sv, kClient, WebSocketFault::kLongControl},
      {"\x88\x7f\x00\x00\x00\x00\x00\x00\x00\x01"sv, kClient, WebSocketFault::kLongControl},
      {"\x82\x7e\x00\x7d"sv, kClient, WebSocketFault::kLengthForm},
      {"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff"sv, kClient, WebSocketFault::kLengthForm},
      {"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00"sv, kClient, WebSocketFault::kLengthForm},
  };
  for (const BadHead& bad : cases) {
    WebSocketHead head;
    EXPECT_EQ(read_websocket_head(bad.bytes.data(), bad.reader, false, head), bad.fault) << to_string(bad.fault);
    EXPECT_EQ(close_code_of(bad.fault), 1002);
  }
  // RSV1 is allowed only in the first frame of a message (RFC 7692 6).
  WebSocketHead head;
  EXPECT_EQ(read_websocket_head("\xc1\x01", kClient, true, head), WebSocketFault::kNone);
  EXPECT_EQ(read_websocket_head("\xc0\x01", kClient, true, head), WebSocketFault::kReservedBits);
  EXPECT_EQ(read_websocket_head("\xc9\x01", kClient, true, head), WebSocketFault::kReservedBits);
}

TEST(WebSocketFrame, masks_at_every_offset_and_length_as_the_loop_of_the_standard) {
  const uint32_t key = key_of("\x12\x34\x56\x78");
  std::string plain;
  for (int at = 0; at < 100; ++at) plain += static_cast<char>(at * 7);
  test::GuardedBytes from(100);
  test::GuardedBytes to(100);
  for (size_t offset = 0; offset < 9; ++offset) {
    for (size_t size = 0; size <= plain.size(); ++size) {
      std::string expected;
      for (size_t at = 0; at < size; ++at)
        expected += static_cast<char>(plain[at] ^ "\x12\x34\x56\x78"[(offset + at) % 4]);
      const std::string_view target = to.hold(std::string(size, '?'));
      mask_websocket_bytes(const_cast<char*>(target.data()), from.hold(plain.substr(0, size)), key, offset);
      ASSERT_EQ(target, expected) << offset << ' ' << size;
      mask_websocket_bytes(const_cast<char*>(target.data()), target, key, offset);  // in place, and back
      ASSERT_EQ(target, plain.substr(0, size));
    }
  }
}

TEST(WebSocketFrame, masked_frames_of_many_blocks) {
  std::string payload(100'000, '\0');
  for (size_t at = 0; at < payload.size(); ++at) payload[at] = static_cast<char>(at % 251);
  const uint32_t key = key_of("\x01\x80\xff\x7f");
  const std::string bytes = "before" + frame({.masked = true, .key = key}, payload);
  std::string body = bytes.substr(6 + 14);
  mask_websocket_bytes(body.data(), body, key);
  EXPECT_EQ(body, payload);
}

TEST(WebSocketFrame, codes_that_may_be_sent_in_close) {
  for (const uint16_t code : std::initializer_list<uint16_t>{1000, 1003, 1007, 1011, 1014, 3000, 3999, 4000, 4999}) {
    const std::string payload = websocket_close_payload(code, "why");
    const auto close = read_websocket_close(payload);
    ASSERT_TRUE(close) << code;
    EXPECT_EQ(close->code, code);
    EXPECT_EQ(close->reason, "why");
  }
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2999, 5000, 65535}) {
    const std::string payload{static_cast<char>(code >> 8), static_cast<char>(code)};
    EXPECT_EQ(read_websocket_close(payload).error(), WebSocketFault::kCloseCode) << code;
  }
}

TEST(WebSocketFrame, close_payloads_that_are_none) {
  EXPECT_EQ(read_websocket_close("")->code, WebSocketCode::kNoCode);
  EXPECT_EQ(read_websocket_close("\x03").error(), WebSocketFault::kClosePayload);
  EXPECT_EQ(read_websocket_close("\x03\xe8\xff").error(), WebSocketFault::kBadUtf8);
  EXPECT_EQ(websocket_close_payload(WebSocketCode::kNoCode, "never said"), "");
}

TEST(WebSocketFrame, a_close_reason_too_long_is_cut_between_characters) {
  std::string reason = "x";
  for (int count = 0; count < 100; ++count) reason += "\xe2\x82\xac";
  const std::string payload = websocket_close_payload(1000, reason);
  EXPECT_EQ(payload.size(), 2u + 1 + 40 * 3);
  EXPECT_EQ(read_websocket_close(payload)->reason, reason.substr(0, 121));
}

TEST(WebSocketFrame, every_fault_has_a_phrase_of_its_own) {
  std::set<std::string_view> phrases;
  for (int fault = 0; fault < kWebSocketFaults; ++fault) {
    phrases.insert(to_string(static_cast<WebSocketFault>(fault)));
  }
  EXPECT_EQ(phrases.size(), static_cast<size_t>(kWebSocketFaults));
  EXPECT_FALSE(phrases.contains("unknown"));
}

}  // namespace
}  // namespace peal
