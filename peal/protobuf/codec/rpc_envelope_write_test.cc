// SPDX-License-Identifier: BSD-3-Clause
// append_request(), append_response(), append_error() and append_cancel() write the same frames as protobuf's generated
// code makes of the same fields. Messages that cannot be sent are refused.
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/wire/framing/integer_bytes.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>
#include <tests/protobuf/rpc_message.pb.h>

namespace peal {
namespace {

using test::kTagged;
using test::Payload;
using test::RpcMessageOfAnyError;

constexpr uint64_t kIds[] = {0, 1, 0x1122'3344'5566'7788, UINT64_MAX};

Payload payload_of_size(size_t bytes) {
  Payload payload;
  payload.set_payload(std::string(bytes, 'p'));
  return payload;
}

RpcMessageOfAnyError envelope_of(test::RpcMessage::Type type, uint64_t id) {
  RpcMessageOfAnyError envelope;
  envelope.set_type(type);
  envelope.set_id(id);
  return envelope;
}

// Returns the frame of muduo's RPC with this envelope.
std::string rpc_frame_of(const RpcMessageOfAnyError& envelope) {
  return test::framed_body(test::summed("RPC0" + envelope.SerializeAsString()));
}

std::string request_frame(const RpcRequestHead& head, const google::protobuf::Message& request) {
  Buffer output;
  append_request(kTagged, output, head, request);
  return output.to_string();
}

TEST(RpcFrames, of_requests_are_those_of_generated_code) {
  for (const uint64_t id : kIds) {
    // The sizes include some around 256 bytes, because a longer envelope is written to the heap instead of the stack.
    for (const size_t name_bytes : {0U, 1U, 95U, 96U, 97U, 98U, 99U, 100U, 101U, 127U, 128U, 20'480U}) {
      for (const std::optional<uint32_t> deadline_ms :
           {std::optional<uint32_t>(), std::optional<uint32_t>(0), std::optional<uint32_t>(128),
            std::optional<uint32_t>(UINT32_MAX)}) {
        const std::string service(name_bytes, 's');
        const std::string method(name_bytes, 'm');
        const Payload request = payload_of_size(name_bytes);
        RpcMessageOfAnyError expected = envelope_of(test::RpcMessage::REQUEST, id);
        expected.set_service(service);
        expected.set_method(method);
        expected.set_request(request.SerializeAsString());
        if (deadline_ms) expected.set_deadline(*deadline_ms);
        const RpcRequestHead head{.id = id, .service = service, .method = method, .deadline_ms = deadline_ms};
        ASSERT_TRUE(request_frame(head, request) == rpc_frame_of(expected)) << id << ", " << name_bytes;
      }
    }
  }
}

TEST(RpcFrames, of_requests_without_names_are_those_of_generated_code) {
  RpcMessageOfAnyError expected = envelope_of(test::RpcMessage::REQUEST, 1);
  expected.set_service("");
  expected.set_method("");
  expected.set_request("");
  const RpcRequestHead head{.id = 1, .service = {}, .method = {}, .deadline_ms = {}};
  EXPECT_EQ(request_frame(head, test::Nothing()), rpc_frame_of(expected));
}

TEST(RpcFrames, of_answers_and_cancels_are_those_of_generated_code) {
  for (const uint64_t id : kIds) {
    for (const size_t bytes : {0U, 1U, 127U, 128U, 16'384U, 20'440U, 20'441U, 20'442U, 20'450U, 100'000U}) {
      RpcMessageOfAnyError expected = envelope_of(test::RpcMessage::RESPONSE, id);
      expected.set_response(payload_of_size(bytes).SerializeAsString());
      Buffer output;
      append_response(kTagged, output, id, payload_of_size(bytes));
      ASSERT_TRUE(output.to_string() == rpc_frame_of(expected)) << bytes;
    }
    for (const int32_t error :
         {0, 1, 6, 7, 100, -1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
      RpcMessageOfAnyError expected = envelope_of(test::RpcMessage::RESPONSE, id);
      expected.set_error(error);
      Buffer output;
      append_error(output, id, error);
      EXPECT_EQ(output.to_string(), rpc_frame_of(expected)) << error;
    }
    Buffer output;
    append_cancel(output, id);
    EXPECT_EQ(output.to_string(), rpc_frame_of(envelope_of(test::RpcMessage::ERROR, id)));
  }
}

// muduo's balancer expects the type and the id at fixed places at the beginning of a message.
TEST(RpcFrames, begin_with_the_type_and_the_id) {
  const std::string request =
      request_frame({.id = 1, .service = "s", .method = "m", .deadline_ms = 5}, payload_of_size(3));
  EXPECT_EQ(request.substr(4, 15), std::string("RPC0\x08\x01\x11\x01\0\0\0\0\0\0\0", 15));
  Buffer output;
  append_response(kTagged, output, 2, payload_of_size(3));
  EXPECT_EQ(output.to_string().substr(4, 15), std::string("RPC0\x08\x02\x11\x02\0\0\0\0\0\0\0", 15));
}

TEST(RpcFrames, of_a_message_that_lacks_a_required_field_are_refused) {
  Buffer output("before");
  const test::Query query;
  EXPECT_THROW(append_request(kTagged, output, {.id = 1, .service = "s", .method = "m", .deadline_ms = {}}, query),
               std::invalid_argument);
  EXPECT_THROW(append_response(kTagged, output, 1, query), std::invalid_argument);
  EXPECT_EQ(output.to_string(), "before");
}

// Appends payloads of 0 to 1010 bytes, and returns the size of the longest body that is not refused.
template <class Append>
size_t longest_body(const Append& append) {
  size_t longest = 0;
  bool refused = false;
  for (size_t bytes = 0; bytes <= 1010; ++bytes) {
    Buffer output("before");
    try {
      append(output, payload_of_size(bytes));
      EXPECT_FALSE(refused) << "a shorter one was refused";
      longest = output.size() - 6 - 4;
    } catch (const std::invalid_argument&) {
      refused = true;
      EXPECT_EQ(output.to_string(), "before");
    }
  }
  EXPECT_TRUE(refused);
  return longest;
}

TEST(RpcFrames, above_the_limit_are_refused_and_nothing_is_written) {
  constexpr TaggedCodec kSmall{.tag = kRpcTag, .limit_bytes = 1000};
  const size_t request = longest_body([&](Buffer& output, const Payload& payload) {
    append_request(kSmall, output, {.id = 1, .service = "s", .method = "m", .deadline_ms = 5}, payload);
  });
  const size_t response =
      longest_body([&](Buffer& output, const Payload& payload) { append_response(kSmall, output, 1, payload); });
  // The check assumes the longest form of each varint in the envelope, so it may refuse a frame up to 40 bytes early.
  for (const size_t longest : {request, response}) {
    EXPECT_LE(longest, 1000U);
    EXPECT_GE(longest, 1000U - 40);
  }
}

}  // namespace
}  // namespace peal
