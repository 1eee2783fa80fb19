// SPDX-License-Identifier: BSD-3-Clause
// RpcChannel: the servers of these tests send false answers. Each call must end exactly once.
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/protobuf/codec/adler32.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/wire/framing/integer_bytes.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/rpc_channel_rig.h>
#include <tests/protobuf/scripted_rpc_server.h>

namespace peal {
namespace {

using echo::EchoResponse;
using echo::EchoService;
using std::chrono::hours;
using test::answer_truly;
using test::count_up;
using test::echo_answer_frame;
using test::echo_of;
using test::EchoAnswer;
using test::error_text;
using test::HeardCall;
using test::reconnecting_soon;
using test::rpc_error_frame;
using test::ScriptedRpcServer;
using test::StubController;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class RpcChannelLiesTest : public test::QuietRpcChannelRig {
 protected:
  using FrameOf = std::function<std::string(const HeardCall&)>;
  // Makes one call for each of `frames`. The server answers it with the frame that this function returns. Notes how the
  // call ends.
  void answered_with(const std::vector<FrameOf>& frames) {
    size_t next = 0;
    const auto lie = [&](const HeardCall& call) { call.connection->send(frames.at(next++)(call)); };
    RpcChannelOptions options = reconnecting_soon();
    options.deadline = hours(1);
    talk(
        lie,
        [&](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
          for (size_t i = 0; i < frames.size(); ++i) co_await call_and_note(channel, "x");
        },
        options);
  }
};

TEST_P(RpcChannelLiesTest, answers_given_twice_or_never_asked_for_are_late) {
  const auto lie = [](const HeardCall& call) {
    const std::string answer = echo_answer_frame(call.id, call.payload);
    call.connection->send(answer + answer + rpc_error_frame(call.id, 3) + echo_answer_frame(call.id + 1, "unasked") +
                          echo_answer_frame(~uint64_t{0}, "unasked") + echo_answer_frame(0, "unasked"));
  };
  talk(lie, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    channel.call(&EchoService::Echo, echo_of("1"), noting());
    co_await until([&] { return channel.stats().late == 5; });
    co_await call_and_note(channel, "2");
    co_await until([&] { return channel.stats().late == 10; });
    EXPECT_THAT(notes, ElementsAre("1", "2"));
    EXPECT_EQ(channel.stats().answered, 2u);
    EXPECT_EQ(server.connections_ever, 1u);
  });
}

TEST_P(RpcChannelLiesTest, messages_that_are_no_answers_are_counted_and_ignored) {
  const auto chatter = [](const HeardCall& call) {
    Buffer frames;
    append_request(test::kRpcCodec, frames, {.id = call.id, .service = "s", .method = "m", .deadline_ms = {}},
                   echo_of("question"));
    append_cancel(frames, call.id);
    call.connection->send(std::move(frames));
    answer_truly(call);
  };
  talk(chatter, [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
    co_await call_and_note(channel, "x");
    EXPECT_THAT(notes, ElementsAre("x"));
    EXPECT_EQ(channel.stats().unexpected, 2u);
  });
}

TEST_P(RpcChannelLiesTest, unknown_error_numbers_are_told_as_they_are) {
  const auto error_by_payload = [](const HeardCall& call) {
    call.connection->send(rpc_error_frame(call.id, std::stoi(call.payload)));
  };
  talk(error_by_payload, [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
    for (const int number : {6, 42, -7}) {
      const EchoAnswer answer = co_await channel.call(&EchoService::Echo, echo_of(std::to_string(number)));
      EXPECT_EQ(answer.error(), make_error_code(static_cast<RpcTrouble>(number)));
      notes.push_back(answer.error().message());
    }
    EXPECT_THAT(notes, ElementsAre("the server did not finish the call before its deadline",
                                   "the server answers with an unknown error: 42",
                                   "the server answers with an unknown error: -7"));
    EXPECT_EQ(channel.stats().failed, 3u);
  });
}

TEST_P(RpcChannelLiesTest, server_cannot_say_that_a_call_was_not_sent) {
  std::vector<FrameOf> lies;
  for (const RpcTrouble own : {RpcTrouble::kNotConnected, RpcTrouble::kConnectionLost, RpcTrouble::kTooManyCalls})
    lies.emplace_back([own](const HeardCall& call) { return rpc_error_frame(call.id, static_cast<int32_t>(own)); });
  answered_with(lies);
  EXPECT_THAT(notes, AllOf(SizeIs(3), Each(text(RpcTrouble::kBadResponse))));
}

TEST_P(RpcChannelLiesTest, response_that_cannot_be_read_is_a_failure) {
  const auto unreadable = [](const HeardCall& call) {
    std::string body = echo_answer_frame(call.id, "x");
    body = body.substr(4, body.size() - 8);
    // This changes the key of the required field, so that the response has an unknown field instead.
    body[body.size() - 3] = '\x1a';
    append_integer<4>(body, adler32_of(body));
    Buffer changed;
    test::kRpcCodec.append(changed, body);
    call.connection->send(std::move(changed));
  };
  talk(unreadable, [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
    co_await call_and_note(channel, "coroutine");
    channel.call(&EchoService::Echo, echo_of("callback"), noting());
    const auto request = echo_of("stub");
    EchoResponse response;
    StubController controller;
    int done = 0;
    EchoService::Stub(&channel).Echo(&controller, &request, &response, google::protobuf::NewCallback(count_up, &done));
    co_await until([&] { return done > 0 && notes.size() == 2; });
    EXPECT_EQ(controller.ErrorText(), make_error_code(RpcTrouble::kBadResponse).message());
    EXPECT_THAT(notes, Each(text(RpcTrouble::kBadResponse)));
    EXPECT_EQ(channel.stats().failed, 3u);
    EXPECT_EQ(channel.stats().answered, 0u);
  });
}

TEST_P(RpcChannelLiesTest, frames_that_cannot_be_read_fail_the_calls) {
  const auto bad_checksum = [](const HeardCall& call) {
    std::string frame = echo_answer_frame(call.id, "x");
    frame.back() ^= 1;
    return frame + echo_answer_frame(call.id, "not read any more");
  };
  const auto bad_length = [](const HeardCall&) { return std::string("\xff\xff\xff\xff", 4); };
  const auto another_protocol = [](const HeardCall&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; };
  answered_with({bad_checksum, bad_length, another_protocol});
  EXPECT_THAT(notes, AllOf(SizeIs(3), Each(text(RpcTrouble::kConnectionLost))));
}

TEST_P(RpcChannelLiesTest, frame_that_cannot_be_read_fails_the_call_though_the_server_does_not_close) {
  RpcChannelOptions options = reconnecting_soon();
  options.client.connection.linger_timeout = hours(1);
  options.deadline = hours(1);
  const auto lies_and_reads_no_more = [](const HeardCall& call) {
    call.connection->send("BAD FRAME OF A SERVER");
    call.connection->pause();
  };
  talk(
      lies_and_reads_no_more,
      [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
        co_await call_and_note(channel, "x");
        EXPECT_THAT(notes, ElementsAre(text(RpcTrouble::kConnectionLost)));
        EXPECT_FALSE(channel.is_connected());
        EXPECT_THAT(server.connections, SizeIs(1));
        server.connections.at(0)->abort();
        co_await until([&] { return channel.is_connected() && server.connections_ever == 2; });
      },
      options);
}

TEST_P(RpcChannelLiesTest, half_an_answer_is_none) {
  const auto half = [](const HeardCall& call) {
    const std::string answer = echo_answer_frame(call.id, call.payload);
    call.connection->send(answer.substr(0, answer.size() / 2));
    call.connection->close();
  };
  talk(half, [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
    co_await call_and_note(channel, "x");
    EXPECT_THAT(notes, ElementsAre(text(RpcTrouble::kConnectionLost)));
    EXPECT_EQ(channel.stats().answered, 0u);
  });
}

PEAL_TEST_ON_EVERY_PORT(RpcChannelLiesTest);

}  // namespace
}  // namespace peal
