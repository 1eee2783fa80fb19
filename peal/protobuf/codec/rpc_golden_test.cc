// SPDX-License-Identifier: BSD-3-Clause
// tests/goldens/protobuf has frames of muduo's RPC that Python's protobuf and zlib made (tools/protobuf_goldens.py).
// peal writes the same bytes, and reads the same fields from them, wherever the input is cut into blocks.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <tests/protobuf/golden_lines.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>
#include <tests/protobuf/rpc_message.pb.h>
#include <tests/protobuf/rpc_reference.h>
#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using google::protobuf::Message;
using test::kTagged;
using test::RpcMessage;

struct RpcGolden {
  RpcMessage fields;
  std::unique_ptr<Message> payload;  // null for an error and for a cancellation
  std::string frame;

  // Returns the fields that a reader of the frame must find, as text.
  std::string fields_text() const {
    RpcMessage all = fields;
    if (payload != nullptr && fields.type() == RpcMessage::RESPONSE) {
      all.set_response(payload->SerializeAsString());
    } else if (payload != nullptr) {
      all.set_request(payload->SerializeAsString());
    }
    return test::text_of(test::read_by_protobuf(all.SerializeAsString()));
  }
};

std::vector<RpcGolden> rpc_goldens() {
  // The two objects make the linker keep the generated code, which registers the message types.
  const test::Note linked_in;
  const test::Query linked_in_too;
  std::vector<RpcGolden> all;
  for (const auto& columns : test::golden_lines("rpc_frames.txt", false)) {
    const std::string& type = columns.at(1);
    RpcGolden golden{.fields = test::message<RpcMessage>(columns.at(0)),
                     .payload = type.empty() ? nullptr : test::message_of_type(type),
                     .frame = test::bytes_of_hex(columns.at(3))};
    EXPECT_TRUE(golden.payload == nullptr ||
                google::protobuf::TextFormat::ParseFromString(columns.at(2), golden.payload.get()));
    all.push_back(std::move(golden));
  }
  return all;
}

void append_golden(Buffer& output, const RpcMessage& fields, const Message* payload) {
  if (fields.type() == RpcMessage::REQUEST) {
    const RpcRequestHead head{.id = fields.id(),
                              .service = fields.service(),
                              .method = fields.method(),
                              .deadline_ms = fields.has_deadline() ? std::optional(fields.deadline()) : std::nullopt};
    append_request(kTagged, output, head, *payload);
  } else if (fields.type() == RpcMessage::ERROR) {
    append_cancel(output, fields.id());
  } else if (payload == nullptr) {
    append_error(output, fields.id(), fields.error());
  } else {
    append_response(kTagged, output, fields.id(), *payload);
  }
}

// Removes the first frame from `input` and returns its fields as text.
std::string text_of_next(Buffer& input) {
  Buffer body;
  if (kTagged.next(input, body) != FrameState::kWhole) return "no frame";
  const auto opened = kTagged.open(body);
  return opened ? test::text_of(test::read_by_peal(*opened)) : test::sentence(opened.error());
}

TEST(RpcGoldens, are_written_to_the_byte) {
  const std::vector<RpcGolden> all = rpc_goldens();
  ASSERT_EQ(all.size(), 22U);
  for (const RpcGolden& golden : all) {
    for (const std::string before : {"", "before"}) {
      Buffer output(before);
      append_golden(output, golden.fields, golden.payload.get());
      EXPECT_EQ(output.to_string(), before + golden.frame) << golden.fields.ShortDebugString();
    }
  }
}

TEST(RpcGoldens, are_read_however_they_are_cut) {
  test::GuardedBytes guarded(4096);
  for (const RpcGolden& golden : rpc_goldens()) {
    const std::string_view frame = golden.frame;
    const std::string expected = golden.fields_text();
    const FramePeek found = kTagged.peek(frame);
    const auto opened = kTagged.open(guarded.hold(frame).substr(found.header_bytes, found.body_bytes));
    ASSERT_TRUE(opened);
    EXPECT_EQ(test::text_of(test::read_by_peal(*opened)), expected);
    for (size_t cut = 1; cut < frame.size(); ++cut) {
      Buffer input = test::in_pieces({frame.substr(0, cut)});
      ASSERT_EQ(kTagged.peek(input).state, FrameState::kMore) << "cut at " << cut;
      input.append(test::in_pieces({frame.substr(cut), "what follows"}));
      ASSERT_EQ(text_of_next(input), expected) << "cut at " << cut;
      ASSERT_EQ(input.to_string(), "what follows");
    }
    for (size_t part = 1; part <= frame.size(); ++part) {
      Buffer input = test::in_parts(golden.frame + golden.frame, part);
      ASSERT_EQ(text_of_next(input), expected) << "in parts of " << part;
      ASSERT_EQ(text_of_next(input), expected) << "in parts of " << part;
      ASSERT_TRUE(input.empty());
    }
  }
}

TEST(RpcGoldens, carry_messages_that_are_parsed_where_they_lie) {
  for (const RpcGolden& golden : rpc_goldens()) {
    if (golden.payload == nullptr) continue;
    for (const size_t part : {1U, 7U, 64U, 1000U}) {
      Buffer input = test::in_parts(golden.frame, part);
      Buffer body;
      ASSERT_EQ(kTagged.next(input, body), FrameState::kWhole);
      RpcEnvelope envelope;
      ASSERT_TRUE(envelope.read(*kTagged.open(body)));
      const std::unique_ptr<Message> read(golden.payload->New());
      const bool response = golden.fields.type() == RpcMessage::RESPONSE;
      ASSERT_TRUE((response ? envelope.response() : envelope.request()).parse_into(*read));
      EXPECT_EQ(read->ShortDebugString(), golden.payload->ShortDebugString());
    }
  }
}

TEST(RpcGoldens, of_several_blocks_are_written_and_read) {
  const auto lines = test::golden_lines("rpc_frames.txt", true);
  ASSERT_EQ(lines.size(), 168U);
  for (const auto& columns : lines) {
    RpcGolden golden{.fields = test::message<RpcMessage>(columns.at(1)), .payload = nullptr, .frame = {}};
    auto payload = std::make_unique<test::Payload>();
    payload->set_payload(test::golden_pattern(std::stoul(columns.at(2))));
    golden.payload = std::move(payload);
    for (const std::string before : {"", "x"}) {
      Buffer output(before);
      append_golden(output, golden.fields, golden.payload.get());
      output.consume(before.size());
      const std::string frame = output.to_string();
      EXPECT_EQ(std::to_string(frame.size()), columns.at(3));
      EXPECT_EQ(test::golden_crc32(frame), columns.at(4)) << columns.at(1) << ", " << columns.at(2);
      EXPECT_TRUE(text_of_next(output) == golden.fields_text()) << columns.at(1) << ", " << columns.at(2);
      EXPECT_TRUE(output.empty());
    }
  }
}

}  // namespace
}  // namespace peal
