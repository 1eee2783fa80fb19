// SPDX-License-Identifier: BSD-3-Clause
// RpcChannel: these tests check how calls are made, how their caller or their deadline ends them, and which messages
// the server gets.
#include <peal/protobuf/rpc/rpc_channel.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/coro/run_on.h>
#include <peal/coro/when.h>
#include <peal/loop/on_loop.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/rpc_channel_rig.h>
#include <tests/protobuf/scripted_rpc_server.h>

namespace peal {
namespace {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;
using std::chrono::hours;
using std::chrono::milliseconds;
using test::answer_truly;
using test::count_up;
using test::echo_of;
using test::EchoAnswer;
using test::error_text;
using test::HeardCall;
using test::reconnecting_soon;
using test::said_by;
using test::ScriptedRpcServer;
using test::StubController;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;
using testing::Optional;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// call() compiles only with a method and the request type of that method.
template <class Method, class Request>
concept CanBeCalled =
    requires(RpcChannel& channel, Method method, const Request& request) { channel.call(method, request); };
static_assert(CanBeCalled<decltype(&EchoService::Echo), EchoRequest>);
static_assert(!CanBeCalled<decltype(&EchoService::Echo), EchoResponse>);
static_assert(!CanBeCalled<decltype(&EchoService::GetDescriptor), EchoRequest>);

class RpcChannelTest : public test::RpcChannelRig {};

TEST_P(RpcChannelTest, coroutine_callback_and_stub_are_answered) {
  talk(answer_truly, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    notes.push_back(said_by(co_await channel.call(&EchoService::Echo, echo_of("coroutine"))));
    channel.call(&EchoService::Reverse, echo_of("callback"), noting());
    EXPECT_THAT(notes, SizeIs(1)) << "not in the call";
    const EchoRequest request = echo_of("stub");
    EchoResponse response;
    StubController controller;
    int done = 0;
    EchoService::Stub(&channel).Echo(&controller, &request, &response, google::protobuf::NewCallback(count_up, &done));
    EXPECT_EQ(channel.stats().under_way, 2u);
    co_await until([&] { return done > 0 && notes.size() == 2; });
    EXPECT_THAT(notes, ElementsAre("coroutine", "callback"));
    EXPECT_EQ(response.payload(), "stub");
    EXPECT_FALSE(controller.Failed());
    EXPECT_EQ(done, 1);
    EXPECT_EQ(channel.stats().answered, 3u);
    EXPECT_EQ(server.calls.at(1).service, "echo.EchoService");
    EXPECT_EQ(server.calls.at(1).method, "Reverse");
  });
}

TEST_P(RpcChannelTest, server_is_told_of_deadlines) {
  RpcChannelOptions options = reconnecting_soon();
  options.deadline = std::chrono::seconds(100);
  talk(
      answer_truly,
      [](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
        EXPECT_TRUE(co_await channel.call(&EchoService::Echo, echo_of("usual")));
        EXPECT_TRUE(co_await channel.call(&EchoService::Echo, echo_of("own")).within(milliseconds(50'000)));
        EXPECT_TRUE(co_await channel.call(&EchoService::Echo, echo_of("none")).within(Duration::max()));
        bool called = false;
        channel.call(&EchoService::Echo, echo_of("callback"), [&](EchoAnswer) { called = true; }, hours(1));
        co_await until([&] { return called; });
        EXPECT_THAT(server.calls.at(0).deadline_ms, Optional(100'000u));
        EXPECT_THAT(server.calls.at(1).deadline_ms, Optional(50'000u));
        EXPECT_EQ(server.calls.at(2).deadline_ms, std::nullopt);
        EXPECT_THAT(server.calls.at(3).deadline_ms, Optional(3'600'000u));
      },
      options);
}

TEST_P(RpcChannelTest, deadline_of_zero_in_the_options_is_none) {
  RpcChannelOptions options = reconnecting_soon();
  options.deadline = {};
  talk(
      answer_truly,
      [](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
        EXPECT_TRUE(co_await channel.call(&EchoService::Echo, echo_of("coroutine")));
        bool called = false;
        channel.call(&EchoService::Echo, echo_of("callback"), [&](EchoAnswer) { called = true; });
        co_await until([&] { return called; });
        for (const HeardCall& call : server.calls) EXPECT_EQ(call.deadline_ms, std::nullopt);
      },
      options);
}

TEST_P(RpcChannelTest, call_that_ends_at_its_deadline_is_cancelled_at_the_server) {
  talk({}, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    // The test waits for the connection, because a call is never sent if its deadline passes before that.
    co_await until([&] { return channel.is_connected(); });
    channel.call(&EchoService::Echo, echo_of("callback"), noting(), milliseconds(5));
    notes.push_back(said_by(co_await channel.call(&EchoService::Echo, echo_of("own")).within(milliseconds(20))));
    co_await until([&] { return server.cancelled.size() == 2 && notes.size() == 2; });
    EXPECT_THAT(notes, Each(error_text(errno_code(ETIMEDOUT))));
    EXPECT_THAT(server.cancelled, UnorderedElementsAre(server.calls.at(0).id, server.calls.at(1).id));
    for (const HeardCall& call : server.calls) answer_truly(call);
    co_await until([&] { return channel.stats().late == 2; });
    EXPECT_EQ(channel.stats().timed_out, 2u);
    EXPECT_EQ(channel.stats().answered, 0u);
    EXPECT_THAT(notes, SizeIs(2));
  });
}

TEST_P(RpcChannelTest, call_whose_own_deadline_is_zero_times_out) {
  talk({}, [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
    channel.call(&EchoService::Echo, echo_of("x"), noting(), {});
    EXPECT_THAT(notes, SizeIs(0));
    notes.push_back(said_by(co_await channel.call(&EchoService::Echo, echo_of("y")).within({})));
    co_await until([this] { return notes.size() == 2; });
    EXPECT_THAT(notes, Each(error_text(errno_code(ETIMEDOUT))));
  });
}

TEST_P(RpcChannelTest, cancelled_call_is_not_called_back_and_the_server_is_told) {
  talk({}, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    const RpcCallId call = channel.call(&EchoService::Echo, echo_of("x"), noting());
    co_await until([&] { return server.calls.size() == 1; });
    EXPECT_TRUE(channel.cancel(call));
    EXPECT_FALSE(channel.cancel(call));
    EXPECT_FALSE(channel.cancel({}));
    co_await until([&] { return server.cancelled.size() == 1; });
    answer_truly(server.calls.at(0));
    co_await until([&] { return channel.stats().late == 1; });
    EXPECT_THAT(notes, SizeIs(0));
    EXPECT_EQ(channel.stats().cancelled, 1u);
  });
}

TEST_P(RpcChannelTest, calls_are_cancelled_from_inside_a_callback) {
  std::vector<HeardCall> heard;
  const auto both_at_once = [&](const HeardCall& call) {
    heard.push_back(call);
    if (heard.size() < 2) return;
    call.connection->send(test::echo_answer_frame(heard[0].id, "one") + test::echo_answer_frame(heard[1].id, "two"));
  };
  talk(both_at_once, [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
    RpcCallId first;
    RpcCallId second;
    first = channel.call(&EchoService::Echo, echo_of("1"), [&](EchoAnswer answer) {
      notes.push_back(said_by(answer));
      EXPECT_FALSE(channel.cancel(first)) << "itself";
      EXPECT_TRUE(channel.cancel(second));
    });
    second = channel.call(&EchoService::Echo, echo_of("2"), noting());
    co_await until([&] { return channel.stats().late == 1; });
    EXPECT_THAT(notes, ElementsAre("one"));
  });
}

TEST_P(RpcChannelTest, first_of_several_calls_cancels_the_others) {
  const auto only_second = [](const HeardCall& call) {
    if (call.payload == "second") answer_truly(call);
  };
  talk(only_second, [](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    const auto ask = [](RpcChannel& its_channel, std::string payload) -> Task<std::string> {
      const EchoRequest request = echo_of(std::move(payload));
      co_return said_by(co_await its_channel.call(&EchoService::Echo, request));
    };
    const auto first = co_await when_any(ask(channel, "first"), ask(channel, "second"));
    EXPECT_EQ(first.index, 1u);
    co_await until([&] { return server.cancelled.size() == 1; });
    EXPECT_EQ(server.cancelled.at(0), server.calls.at(0).id);
    EXPECT_EQ(channel.stats().cancelled, 1u);
  });
}

TEST_P(RpcChannelTest, cancelled_scope_ends_its_calls) {
  talk({}, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    Scope scope(loop());
    for (int i = 0; i < 3; ++i) scope.spawn(call_and_note(channel, "x"));
    co_await until([&] { return server.calls.size() == 3; });
    scope.cancel();
    co_await scope.join();
    EXPECT_THAT(notes, AllOf(SizeIs(3), Each(error_text(errno_code(ECANCELED)))));
    co_await until([&] { return server.cancelled.size() == 3; });
  });
}

TEST_P(RpcChannelTest, request_that_cannot_be_sent_throws_and_leaves_no_call) {
  RpcChannelOptions options = reconnecting_soon();
  options.limit_bytes = 1000;
  talk(
      answer_truly,
      [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
        const EchoRequest empty;
        for (const EchoRequest& request : {empty, echo_of(std::string(1000, 'x'))}) {
          EXPECT_THROW(channel.call(&EchoService::Echo, request, noting()), std::invalid_argument);
          EXPECT_THROW(co_await channel.call(&EchoService::Echo, request), std::invalid_argument);
          EchoResponse response;
          int done = 0;
          const auto closure =
              std::unique_ptr<google::protobuf::Closure>(google::protobuf::NewPermanentCallback(count_up, &done));
          EXPECT_THROW(EchoService::Stub(&channel).Echo(nullptr, &request, &response, closure.get()),
                       std::invalid_argument);
          co_await settle();
          EXPECT_EQ(done, 0);
        }
        EXPECT_EQ(channel.stats().under_way, 0u);
        EXPECT_EQ(channel.stats().failed, 6u);
        notes.push_back(said_by(co_await channel.call(&EchoService::Echo, echo_of("well"))));
        EXPECT_THAT(notes, ElementsAre("well"));
      },
      options);
}

TEST_P(RpcChannelTest, no_calls_at_all_is_refused) {
  RpcChannelOptions options;
  options.most_calls = 0;
  EXPECT_THROW(RpcChannel(loop(), options), std::invalid_argument);
}

PEAL_TEST_ON_EVERY_PORT(RpcChannelTest);

}  // namespace
}  // namespace peal
