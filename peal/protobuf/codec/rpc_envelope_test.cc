// SPDX-License-Identifier: BSD-3-Clause
// RpcEnvelope reads the same fields as protobuf's generated code (tests/protobuf/rpc_reference.h), from one piece and
// from blocks that end at any byte. Each test makes messages that a peer could send.
#include <peal/protobuf/codec/rpc_envelope.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/clock.h>
#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/varint.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/rpc_message.pb.h>
#include <tests/protobuf/rpc_reference.h>
#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using test::RpcMessageOfAnyError;

constexpr std::array<uint32_t, 8> kKnownFields = {1, 2, 3, 4, 5, 6, 7, 100};
constexpr std::array<uint32_t, 7> kUnknownFields = {8, 15, 16, 99, 101, 20'000, 536'870'911};
enum Wire : uint8_t { kWireVarint, kWireFixed64, kWireBytes, kWireGroup, kWireGroupEnd, kWireFixed32 };

std::string varint_text(uint64_t value) {
  std::string bytes;
  append_varint(bytes, value);
  return bytes;
}

// Returns a varint of `bytes` bytes, even if the value needs fewer.
std::string wide_varint(uint64_t value, size_t bytes) {
  std::string text = varint_text(value);
  while (text.size() < bytes) {
    text.back() = static_cast<char>(text.back() | 0x80);
    text.push_back('\0');
  }
  return text;
}

std::string key_text(uint32_t field, Wire wire) { return varint_text(uint64_t{field} << 3 | wire); }
std::string bytes_text(std::string_view bytes) { return varint_text(bytes.size()).append(bytes); }

// Returns a field with this wire type. A group contains two fields.
std::string field_text(uint32_t field, Wire wire, uint64_t value = 2) {
  std::string key = key_text(field, wire);
  switch (wire) {
    case kWireVarint: return key + varint_text(value);
    case kWireFixed64: return key + std::string("\x02\0\0\0\0\0\0\0", 8);
    case kWireBytes: return key + bytes_text("some");
    case kWireGroup:
      return key + field_text(2, kWireFixed64) + field_text(1, kWireVarint) + key_text(field, kWireGroupEnd);
    case kWireGroupEnd: return key;
    case kWireFixed32: return key + std::string("\x02\0\0\0", 4);
  }
  return key;
}

const std::string kTypeAndId("\x08\x01\x11\x05\0\0\0\0\0\0\0", 11);

// Returns one field of each kind, in the order of kKnownFields.
std::array<std::string, 8> known_fields() {
  return {field_text(1, kWireVarint),
          kTypeAndId.substr(2),
          key_text(3, kWireBytes) + bytes_text("a.Service"),
          key_text(4, kWireBytes) + bytes_text("Method"),
          key_text(5, kWireBytes) + bytes_text("request"),
          key_text(6, kWireBytes) + bytes_text("the response"),
          field_text(7, kWireVarint, 6),
          field_text(100, kWireVarint, 300)};
}

std::string joined(const std::array<std::string, 8>& fields) {
  std::string bytes;
  for (const std::string& field : fields) bytes += field;
  return bytes;
}

std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string bytes;
  for (const std::string_view piece : pieces) bytes += piece;
  return bytes;
}

std::string told_by_peal(const Buffer& buffer) { return test::bytes_of(test::read_by_peal(MessageBytes(buffer))); }

// Reads a message in one piece, in blocks of each size, and in two blocks cut at each byte. Expects each time the
// fields that protobuf reads. Returns them as text.
std::string read_as_protobuf_does(std::initializer_list<std::string_view> pieces) {
  const std::string message = joined(pieces);
  const std::string_view bytes = message;
  const auto fields = test::read_by_protobuf(bytes);
  const std::string expected = test::bytes_of(fields);
  EXPECT_EQ(test::is_muduo_message(bytes), fields.has_value());
  test::GuardedBytes guarded(bytes.size());
  const auto read = test::read_by_peal(MessageBytes(guarded.hold(bytes)));
  EXPECT_EQ(test::text_of(read), test::text_of(fields)) << testing::PrintToString(message);
  for (size_t part = 1; part < bytes.size(); ++part) {
    EXPECT_TRUE(told_by_peal(test::in_parts(bytes, part)) == expected) << "in parts of " << part;
    const Buffer two = test::in_pieces({bytes.substr(0, part), bytes.substr(part)});
    EXPECT_TRUE(told_by_peal(two) == expected) << "cut at " << part;
  }
  return test::text_of(fields);
}

TEST(RpcEnvelope, reads_fields_in_every_order) {
  const auto fields = known_fields();
  std::array<size_t, 8> order = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::string expected = test::text_of(test::read_by_protobuf(joined(fields)));
  EXPECT_EQ(expected,
            "type: RESPONSE id: 5 service: \"a.Service\" method: \"Method\" request: \"request\" "
            "response: \"the response\" error: 6 deadline: 300");
  do {
    std::string bytes;
    for (const size_t at : order) bytes += fields[at];
    ASSERT_EQ(test::text_of(test::read_by_peal(MessageBytes(bytes))), expected);
    if (order[0] != 4) continue;  // reading all orders from blocks would take too long
    ASSERT_EQ(told_by_peal(test::in_parts(bytes, 3)), told_by_peal(Buffer(bytes)));
  } while (std::ranges::next_permutation(order).found);
  for (size_t first = 0; first < fields.size(); ++first) {
    std::array<std::string, 8> rotated = known_fields();
    std::ranges::rotate(rotated, rotated.begin() + static_cast<ptrdiff_t>(first));
    EXPECT_EQ(read_as_protobuf_does({joined(rotated)}), expected);
  }
}

TEST(RpcEnvelope, the_last_of_repeated_fields_counts) {
  const std::string once = joined(known_fields());
  const std::array<std::string, 8> others = {field_text(1, kWireVarint, 3),
                                             field_text(2, kWireFixed64),
                                             field_text(3, kWireBytes),
                                             field_text(4, kWireBytes),
                                             key_text(5, kWireBytes) + bytes_text(""),
                                             key_text(6, kWireBytes) + bytes_text("a longer one than the first"),
                                             field_text(7, kWireVarint, 0),
                                             field_text(100, kWireVarint, 0)};
  for (const std::string& other : others) {
    const std::string last = read_as_protobuf_does({once, other});
    EXPECT_EQ(read_as_protobuf_does({once, once, other, other}), last);
    EXPECT_NE(last, read_as_protobuf_does({other, once}));
  }
}

TEST(RpcEnvelope, passes_over_unknown_fields_of_every_wire_type) {
  const auto fields = known_fields();
  const std::string expected = test::text_of(test::read_by_protobuf(joined(fields)));
  for (const uint32_t unknown : kUnknownFields) {
    for (const Wire wire : {kWireVarint, kWireFixed64, kWireBytes, kWireGroup, kWireFixed32}) {
      const std::string more = field_text(unknown, wire);
      EXPECT_EQ(read_as_protobuf_does({more, more, joined(fields), more}), expected);
      std::string between;
      for (const std::string& field : fields) {
        between += field;
        between += more;
      }
      EXPECT_EQ(test::text_of(test::read_by_peal(MessageBytes(between))), expected);
    }
  }
}

TEST(RpcEnvelope, a_known_field_of_another_wire_type_is_unknown) {
  for (const uint32_t field : kKnownFields) {
    for (const Wire wire : {kWireVarint, kWireFixed64, kWireBytes, kWireGroup, kWireGroupEnd, kWireFixed32}) {
      const std::string other = field_text(field, wire);
      read_as_protobuf_does({other});
      read_as_protobuf_does({kTypeAndId, other});
      read_as_protobuf_does({other, kTypeAndId});
    }
  }
}

TEST(RpcEnvelope, other_wire_types_and_field_zero_are_unreadable) {
  for (const uint64_t key : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 14U, 15U, 62U, 63U, 800U, 806U, 807U}) {
    const std::string bad = varint_text(key);
    for (const std::string& rest : {std::string(), std::string(8, '\0'), kTypeAndId}) {
      read_as_protobuf_does({kTypeAndId, bad, rest});
      read_as_protobuf_does({kTypeAndId, key_text(9, kWireGroup), bad, rest, key_text(9, kWireGroupEnd)});
    }
  }
  EXPECT_EQ(read_as_protobuf_does({kTypeAndId, std::string(1, '\0')}), "unreadable");
}

TEST(RpcEnvelope, groups_nest_a_hundred_deep) {
  const auto nested = [](uint32_t field, size_t depth) {
    std::string bytes;
    for (size_t i = 0; i < depth; ++i) bytes += key_text(field, kWireGroup);
    for (size_t i = 0; i < depth; ++i) bytes += key_text(field, kWireGroupEnd);
    return bytes;
  };
  for (const uint32_t field : {8U, 1U, 300U}) {
    for (const size_t depth : {1U, 2U, 99U, 100U, 101U}) {
      const std::string told = read_as_protobuf_does({kTypeAndId, nested(field, depth)});
      EXPECT_EQ(told != "unreadable", depth <= 100) << depth;
    }
    EXPECT_NE(read_as_protobuf_does({nested(field, 100), nested(field, 100), kTypeAndId}), "unreadable");
    EXPECT_EQ(read_as_protobuf_does({kTypeAndId, nested(field, 50), nested(field, 101)}), "unreadable");
  }
  EXPECT_EQ(read_as_protobuf_does({key_text(8, kWireGroup), kTypeAndId, key_text(8, kWireGroupEnd)}), "unreadable")
      << "fields inside a group are not those of the message";
}

TEST(RpcEnvelope, groups_that_end_otherwise_are_unreadable) {
  const std::string begin8 = key_text(8, kWireGroup);
  const std::string end8 = key_text(8, kWireGroupEnd);
  const std::string begin9 = key_text(9, kWireGroup);
  const std::string end9 = key_text(9, kWireGroupEnd);
  for (const std::string& bad :
       {begin8, end8, joined({end8, begin8}), joined({begin8, end9}), joined({begin8, begin9, end8, end9}),
        joined({begin8, begin9, end9}), joined({begin8, end8, end8}), joined({begin8, begin8, end8}),
        joined({begin8, std::string(1, '\4'), end8}), joined({begin8, key_text(3, kWireBytes), "\x05", end8}),
        joined({begin8, field_text(1, kWireVarint)})}) {
    EXPECT_EQ(read_as_protobuf_does({kTypeAndId, bad}), "unreadable") << testing::PrintToString(bad);
    EXPECT_EQ(read_as_protobuf_does({bad, kTypeAndId}), "unreadable") << testing::PrintToString(bad);
    EXPECT_EQ(read_as_protobuf_does({kTypeAndId, bad, joined(known_fields())}), "unreadable");
  }
}

TEST(RpcEnvelope, numbers_are_those_that_protobuf_makes_of_a_varint) {
  constexpr uint64_t kHigh = uint64_t{1} << 32;
  for (const uint64_t value : {uint64_t{0},
                               uint64_t{1},
                               uint64_t{2},
                               uint64_t{3},
                               uint64_t{4},
                               uint64_t{6},
                               uint64_t{7},
                               uint64_t{100},
                               uint64_t{127},
                               uint64_t{128},
                               uint64_t{0x7fff'ffff},
                               uint64_t{0x8000'0000},
                               uint64_t{UINT32_MAX},
                               kHigh,
                               kHigh + 1,
                               kHigh + 3,
                               kHigh + 4,
                               kHigh * 2 + 200,
                               UINT64_MAX,
                               UINT64_MAX - 1,
                               UINT64_MAX << 31}) {
    for (const uint32_t field : {1U, 7U, 100U}) {
      read_as_protobuf_does({field_text(field, kWireVarint, value), kTypeAndId});
      read_as_protobuf_does({kTypeAndId, field_text(field, kWireVarint, value)});
      read_as_protobuf_does({kTypeAndId.substr(2), field_text(field, kWireVarint, value)});
    }
  }
  const std::string id = kTypeAndId.substr(2);
  EXPECT_EQ(read_as_protobuf_does({id, field_text(1, kWireVarint, 4)}), "unreadable") << "not a type";
  EXPECT_EQ(read_as_protobuf_does({id, field_text(1, kWireVarint, 0)}), "unreadable") << "not a type";
  EXPECT_NE(read_as_protobuf_does({kTypeAndId, field_text(1, kWireVarint, 4)}), "unreadable")
      << "the earlier one counts";
  RpcEnvelope envelope;
  const std::string negative = kTypeAndId + field_text(7, kWireVarint, static_cast<uint64_t>(int64_t{-3}));
  ASSERT_TRUE(envelope.read(MessageBytes(negative)));
  EXPECT_EQ(envelope.error(), -3);
}

TEST(RpcEnvelope, varints_may_be_wider_than_they_need_where_protobuf_lets_them) {
  for (size_t width = 1; width <= 11; ++width) {
    const std::string one = wide_varint(1, width);
    read_as_protobuf_does({"\x08", one, kTypeAndId.substr(2)});
    read_as_protobuf_does({kTypeAndId, "\x38", one});
    read_as_protobuf_does({kTypeAndId, "\x40", one});                       // an unknown varint
    read_as_protobuf_does({kTypeAndId, "\x1a", one, "s"});                  // the size of a name
    read_as_protobuf_does({kTypeAndId, "\x4a", one, "s"});                  // the size of unknown bytes
    read_as_protobuf_does({kTypeAndId, wide_varint(0x38, width), "\x02"});  // a key
    read_as_protobuf_does({kTypeAndId, wide_varint(0x40, width), "\x02"});  // an unknown key
    read_as_protobuf_does({kTypeAndId, "\x43", wide_varint(0x40, width), "\x02\x44"});
    read_as_protobuf_does({kTypeAndId, "\x43", wide_varint(0x44, width)});
  }
  for (const uint64_t high : {uint64_t{1} << 32, uint64_t{7} << 32, uint64_t{1} << 35, uint64_t{1} << 63}) {
    read_as_protobuf_does({varint_text(high + 0x08), "\x01", kTypeAndId});
    read_as_protobuf_does({kTypeAndId, "\x1a", varint_text(high + 1), "s"});
    read_as_protobuf_does({kTypeAndId, varint_text(high)});
  }
}

// This is the only difference to protobuf, which drops the bits above 64. No implementation writes such a varint, and
// peal's varint.h refuses it.
TEST(RpcEnvelope, a_varint_of_more_than_64_bits_is_unreadable) {
  for (const char last : {'\x02', '\x03', '\x7f'}) {
    const std::string bytes = kTypeAndId + "\x40" + std::string(9, '\xff') + last;
    ASSERT_TRUE(test::may_hold_too_wide_varint(bytes));
    for (size_t part = 1; part <= bytes.size(); ++part) {
      EXPECT_EQ(test::text_of(test::read_by_peal(MessageBytes(test::in_parts(bytes, part)))), "unreadable");
    }
    EXPECT_NE(test::text_of(test::read_by_protobuf(bytes)), "unreadable");
  }
}

TEST(RpcEnvelope, without_a_type_or_an_id_is_unreadable) {
  const auto fields = known_fields();
  EXPECT_EQ(read_as_protobuf_does({""}), "unreadable");
  for (size_t missing = 0; missing < fields.size(); ++missing) {
    std::array<std::string, 8> others = fields;
    others[missing].clear();
    EXPECT_EQ(read_as_protobuf_does({joined(others)}) == "unreadable", missing < 2) << missing;
  }
  EXPECT_EQ(read_as_protobuf_does({fields[0]}), "unreadable");
  EXPECT_EQ(read_as_protobuf_does({fields[1]}), "unreadable");
  EXPECT_NE(read_as_protobuf_does({kTypeAndId}), "unreadable");
}

TEST(RpcEnvelope, that_ends_at_any_byte_is_read_up_to_a_field_or_unreadable) {
  const std::string bytes = joined(known_fields()) + field_text(8, kWireGroup) + field_text(9, kWireBytes) +
                            field_text(10, kWireFixed32) + field_text(11, kWireFixed64) +
                            field_text(200, kWireVarint, UINT64_MAX);
  for (size_t size = 0; size <= bytes.size(); ++size) read_as_protobuf_does({bytes.substr(0, size)});
}

TEST(RpcEnvelope, with_any_other_byte_anywhere_is_read_as_protobuf_does) {
  const std::string bytes = joined(known_fields()) + field_text(8, kWireGroup);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      const std::string expected = test::bytes_of(test::read_by_protobuf(changed));
      ASSERT_TRUE(told_by_peal(Buffer(changed)) == expected) << value << " at " << at;
      for (const size_t part : {1U, 4U}) {
        ASSERT_TRUE(told_by_peal(test::in_parts(changed, part)) == expected) << value << " at " << at;
      }
    }
  }
}

TEST(RpcEnvelope, names_in_one_block_are_not_copied_and_others_are_joined) {
  const std::string service(1000, 's');
  const std::string method(300, 'm');
  const std::string bytes = kTypeAndId + "\x1a" + bytes_text(service) + "\x22" + bytes_text(method);
  RpcEnvelope whole;
  ASSERT_TRUE(whole.read(MessageBytes(bytes)));
  EXPECT_EQ(whole.service().data(), bytes.data() + bytes.find(service));
  EXPECT_EQ(whole.method().data(), bytes.data() + bytes.find(method));
  for (const size_t part : {1U, 10U, 299U, 600U, 1200U}) {
    const Buffer blocks = test::in_parts(bytes, part);
    RpcEnvelope envelope;
    ASSERT_TRUE(envelope.read(MessageBytes(blocks)));
    EXPECT_EQ(envelope.service(), service);
    EXPECT_EQ(envelope.method(), method);
  }
  // A field comes twice: once in several blocks and once in a single block, in both orders.
  for (const std::string& again : {std::string(1000, 'a'), std::string("b")}) {
    read_as_protobuf_does({"\x1a", bytes_text(again), kTypeAndId, "\x1a", bytes_text("last")});
    read_as_protobuf_does({"\x1a", bytes_text("first"), kTypeAndId, "\x1a", bytes_text(again)});
  }
}

// Returns the CPU time of this thread that reading takes.
Duration time_to_read(const MessageBytes& bytes) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto before = now();
  RpcEnvelope envelope;
  EXPECT_TRUE(envelope.read(bytes));
  return now() - before;
}

// An earlier version copied the list of blocks for each number, which took 150 times as long.
TEST(RpcEnvelope, many_fields_in_many_blocks_cost_no_more_than_a_few_times_as_much_as_in_one) {
  std::string bytes = kTypeAndId;
  while (bytes.size() < 1'000'000) bytes += field_text(8, kWireVarint);
  const Buffer blocks = test::in_parts(bytes, 201);
  const Duration whole = time_to_read(MessageBytes(bytes));
  EXPECT_LE(time_to_read(MessageBytes(blocks)), 30 * whole);
}

}  // namespace
}  // namespace peal
