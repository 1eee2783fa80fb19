// SPDX-License-Identifier: BSD-3-Clause
// RpcChannel: these tests check what happens to calls when the connection opens and closes, and when the limits of the
// channel are reached.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/coro/scope.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/kept_port.h>
#include <tests/protobuf/rpc_channel_rig.h>
#include <tests/protobuf/scripted_rpc_server.h>

namespace peal {
namespace {

using echo::EchoService;
using std::chrono::hours;
using std::chrono::milliseconds;
using test::answer_truly;
using test::echo_of;
using test::EchoAnswer;
using test::error_text;
using test::HeardCall;
using test::KeptPort;
using test::reconnecting_soon;
using test::said_by;
using test::ScriptedRpcServer;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class RpcChannelReconnectTest : public test::RpcChannelRig {
 protected:
  void call_noting(RpcChannel& channel, const std::string& payload) {
    channel.call(&EchoService::Echo, echo_of(payload), noting(), hours(1));
  }
  static std::string lost() { return error_text(make_error_code(RpcTrouble::kConnectionLost)); }
  static std::string not_connected() { return error_text(make_error_code(RpcTrouble::kNotConnected)); }
  static std::string too_many() { return error_text(make_error_code(RpcTrouble::kTooManyCalls)); }
  void connect_anew(const std::function<void(Scope&, RpcChannel&, std::function<void(const EchoAnswer&)>)>& begin);
};

TEST_P(RpcChannelReconnectTest, calls_made_before_connect_go_out_in_their_order) {
  run([&]() -> Task<> {
    ScriptedRpcServer server(loop(), answer_truly);
    RpcChannel channel(loop());
    for (const char* payload : {"1", "2", "3"}) call_noting(channel, payload);
    EXPECT_FALSE(channel.is_connected());
    EXPECT_TRUE(channel.connect(server.address()));
    co_await until([&] { return notes.size() == 3; });
    EXPECT_THAT(notes, ElementsAre("1", "2", "3"));
    EXPECT_TRUE(channel.is_connected());
    channel.stop();
    co_await until([&] { return server.connections.empty(); });
  });
}

TEST_P(RpcChannelReconnectTest, server_that_comes_back_is_sent_what_had_not_been_sent) {
  run([&]() -> Task<> {
    const KeptPort port;
    auto server = std::make_unique<ScriptedRpcServer>(loop(), ScriptedRpcServer::OnCall(), port.address());
    RpcChannel channel(loop(), reconnecting_soon());
    EXPECT_TRUE(channel.connect(port.address()));
    call_noting(channel, "sent");
    co_await until([&] { return server->calls.size() == 1; });
    server.reset();
    co_await until([&] { return notes.size() == 1; });
    EXPECT_THAT(notes, ElementsAre(lost()));
    call_noting(channel, "unsent");
    const RpcCallId cancelled = channel.call(&EchoService::Echo, echo_of("cancelled"), noting());
    co_await sleep(milliseconds(10));
    EXPECT_TRUE(channel.cancel(cancelled));
    server = std::make_unique<ScriptedRpcServer>(loop(), answer_truly, port.address());
    co_await until([&] { return notes.size() == 2; });
    EXPECT_THAT(notes, ElementsAre(lost(), "unsent"));
    EXPECT_THAT(server->calls, SizeIs(1));
    EXPECT_THAT(server->cancelled, SizeIs(0)) << "what was never sent need not be cancelled";
    channel.stop();
    co_await until([&] { return server->connections.empty(); });
  });
}

TEST_P(RpcChannelReconnectTest, server_that_sends_fin_fails_the_calls_that_wait) {
  const auto fin = [](const HeardCall& call) {
    if (call.payload == "fin") call.connection->close();
  };
  talk(fin, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    for (const char* payload : {"1", "2", "fin"}) call_noting(channel, payload);
    co_await until([&] { return notes.size() == 3; });
    EXPECT_THAT(notes, Each(lost()));
    EXPECT_EQ(channel.stats().failed, 3u);
    co_await until([&] { return channel.is_connected() && server.connections_ever == 2; });
  });
}

TEST_P(RpcChannelReconnectTest, channel_that_does_not_wait_refuses_calls_without_a_connection) {
  RpcChannelOptions options = reconnecting_soon();
  options.waits_for_connection = false;
  talk(
      answer_truly,
      [this](ScriptedRpcServer&, RpcChannel& channel) -> Task<> {
        call_noting(channel, "too early");
        EXPECT_THAT(notes, SizeIs(0)) << "not in the call";
        co_await call_and_note(channel, "too early");
        co_await until([&] { return notes.size() == 2; });
        EXPECT_THAT(notes, Each(not_connected()));
        co_await until([&] { return channel.is_connected(); });
        co_await call_and_note(channel, "connected");
        EXPECT_EQ(notes.back(), "connected");
        EXPECT_EQ(channel.stats().calls, 3u);
        EXPECT_EQ(channel.stats().failed, 2u);
      },
      options);
}

TEST_P(RpcChannelReconnectTest, last_attempt_that_fails_fails_all_calls) {
  run([&]() -> Task<> {
    RpcChannelOptions options = reconnecting_soon();
    options.client.retry.attempts = 3;
    RpcChannel channel(loop(), options);
    const KeptPort port;
    const SocketAddress nowhere = port.address();
    co_await settle();
    EXPECT_TRUE(channel.connect(nowhere));
    for (const char* payload : {"1", "2"}) call_noting(channel, payload);
    co_await call_and_note(channel, "3");
    co_await until([&] { return notes.size() == 3; });
    call_noting(channel, "after that");
    co_await until([&] { return notes.size() == 4; });
    EXPECT_THAT(notes, Each(not_connected()));
    ScriptedRpcServer server(loop(), answer_truly);
    EXPECT_TRUE(channel.connect(server.address()));
    co_await call_and_note(channel, "connected");
    EXPECT_EQ(notes.back(), "connected");
    channel.stop();
    co_await until([&] { return server.connections.empty(); });
  });
}

TEST_P(RpcChannelReconnectTest, stop_fails_all_calls_and_connect_begins_anew) {
  talk({}, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    call_noting(channel, "sent");
    co_await until([&] { return server.calls.size() == 1; });
    channel.stop();
    EXPECT_THAT(notes, ElementsAre(lost()));
    EXPECT_FALSE(channel.is_connected());
    call_noting(channel, "stopped");
    co_await until([&] { return notes.size() == 2; });
    EXPECT_THAT(notes, ElementsAre(lost(), not_connected()));
    ScriptedRpcServer other(loop(), answer_truly);
    EXPECT_TRUE(channel.connect(other.address()));
    EXPECT_EQ(channel.connect(other.address()).error(), std::errc::connection_already_in_progress);
    co_await call_and_note(channel, "again");
    EXPECT_EQ(notes.back(), "again");
    channel.stop();
    co_await until([&] { return other.connections.empty(); });
  });
}

TEST_P(RpcChannelReconnectTest, callback_of_a_stopped_call_connects_anew) {
  talk({}, [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    ScriptedRpcServer other(loop(), answer_truly);
    channel.call(&EchoService::Echo, echo_of("first"), [&](const EchoAnswer& answer) {
      notes.push_back(said_by(answer));
      EXPECT_TRUE(channel.connect(other.address()));
      call_noting(channel, "again");
    });
    co_await until([&] { return server.calls.size() == 1; });
    channel.stop();
    co_await until([&] { return notes.size() == 2; });
    EXPECT_THAT(notes, ElementsAre(lost(), "again"));
    channel.stop();
    co_await until([&] { return other.connections.empty(); });
  });
}

// Tests a channel that does not reconnect by itself. `begin` makes a call whose connection is lost. It passes the
// call's error to the function that it is given, which connects the channel again.
void RpcChannelReconnectTest::connect_anew(
    const std::function<void(Scope&, RpcChannel&, std::function<void(const EchoAnswer&)>)>& begin) {
  RpcChannelOptions options;
  options.client.retry = {};
  const auto body = [&](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
    ScriptedRpcServer other(loop(), answer_truly);
    Scope scope(loop());
    begin(scope, channel, [&](const EchoAnswer& answer) {
      notes.push_back(said_by(answer));
      EXPECT_TRUE(channel.connect(other.address()));
      EXPECT_EQ(channel.connect(other.address()).error(), std::errc::connection_already_in_progress);
      call_noting(channel, "again");
    });
    co_await until([&] { return server.calls.size() == 1; });
    server.connections.at(0)->close();
    co_await until([&] { return notes.size() == 2; });
    EXPECT_THAT(notes, ElementsAre(lost(), "again"));
    co_await scope.join();
    channel.stop();
    co_await until([&] { return other.connections.empty(); });
  };
  talk({}, body, options);
}

TEST_P(RpcChannelReconnectTest, callback_of_a_lost_call_connects_anew) {
  connect_anew([](Scope&, RpcChannel& channel, const auto& go_on) {
    channel.call(&EchoService::Echo, echo_of("first"), go_on);
  });
}

TEST_P(RpcChannelReconnectTest, coroutine_of_a_lost_call_connects_anew) {
  const auto await_answer = [](RpcChannel& channel, std::function<void(const EchoAnswer&)> go_on) -> Task<> {
    const auto request = echo_of("first");
    go_on(co_await channel.call(&EchoService::Echo, request));
  };
  connect_anew(
      [&](Scope& scope, RpcChannel& channel, const auto& go_on) { scope.spawn(await_answer(channel, go_on)); });
}

// The first connection ends after the second one has opened, because the first server is paused and does not notice the
// end at once.
TEST_P(RpcChannelReconnectTest, end_of_the_connection_before_leaves_the_calls_of_this_one_alone) {
  RpcChannelOptions options = reconnecting_soon();
  options.client.connection.linger_timeout = hours(1);
  talk([](const HeardCall& call) { call.connection->pause(); },
       [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
         call_noting(channel, "first");
         co_await until([&] { return server.calls.size() == 1; });
         channel.stop();
         ScriptedRpcServer other(loop());
         EXPECT_TRUE(channel.connect(other.address()));
         call_noting(channel, "second");
         co_await until([&] { return other.calls.size() == 1; });
         EXPECT_EQ(server.connections.size(), 1u);
         server.connections.at(0)->abort();
         co_await until([&] { return server.connections.empty(); });
         co_await sleep(milliseconds(5));
         EXPECT_THAT(notes, ElementsAre(lost()));
         EXPECT_TRUE(channel.is_connected());
         answer_truly(other.calls.at(0));
         co_await until([&] { return notes.size() == 2; });
         EXPECT_EQ(notes.back(), "second");
         channel.stop();
         co_await until([&] { return other.connections.empty(); });
       },
       options);
}

TEST_P(RpcChannelReconnectTest, one_call_too_many_is_refused) {
  RpcChannelOptions options = reconnecting_soon();
  options.most_calls = 3;
  talk(
      {},
      [this](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
        for (int i = 0; i < 2; ++i) call_noting(channel, "x");
        co_await until([&] { return server.calls.size() == 2; });
        for (int i = 0; i < 2; ++i) call_noting(channel, "y");
        co_await call_and_note(channel, "z");
        co_await until([&] { return notes.size() == 2; });
        EXPECT_THAT(notes, Each(too_many()));
        answer_truly(server.calls.at(0));
        co_await until([&] { return notes.size() == 3; });
        call_noting(channel, "there is room again");
        co_await until([&] { return server.calls.size() == 4; });
        EXPECT_EQ(channel.stats().under_way, 3u);
      },
      options);
}

TEST_P(RpcChannelReconnectTest, hundred_thousand_calls_to_a_server_that_never_answers_are_bounded) {
  RpcChannelOptions options = reconnecting_soon();
  options.most_calls = 500;
  talk(
      {},
      [](ScriptedRpcServer& server, RpcChannel& channel) -> Task<> {
        constexpr size_t kCalls = 100'000;
        size_t refused = 0;
        size_t lost_calls = 0;
        const auto count = [&](const EchoAnswer& answer) {
          ++(answer.error() == RpcTrouble::kTooManyCalls ? refused : lost_calls);
        };
        for (size_t i = 0; i < kCalls; ++i) {
          channel.call(&EchoService::Echo, echo_of("x"), count, hours(1));
          EXPECT_LE(channel.stats().under_way, 500u);
        }
        co_await until([&] { return refused + 500 == kCalls && server.calls.size() == 500; });
        EXPECT_EQ(lost_calls, 0u);
        channel.stop();
        EXPECT_EQ(lost_calls, 500u);
        EXPECT_EQ(channel.stats().calls, kCalls);
        EXPECT_EQ(channel.stats().failed, kCalls);
      },
      options);
}

TEST_P(RpcChannelReconnectTest, server_that_never_reads_is_sent_no_more_than_allowed) {
  RpcChannelOptions options = reconnecting_soon();
  options.most_unsent_bytes = 100'000;
  run([&]() -> Task<> {
    ScriptedRpcServer server(loop());
    server.reads = false;
    RpcChannel channel(loop(), options);
    EXPECT_TRUE(channel.connect(server.address()));
    co_await until([&] { return channel.is_connected(); });
    size_t refused = 0;
    const auto count = [&](const EchoAnswer& answer) {
      if (answer.error() == RpcTrouble::kTooManyCalls) ++refused;
    };
    // The kernel's buffers take some megabytes before the channel has to queue.
    while (refused < 10) {
      channel.call(&EchoService::Echo, echo_of(std::string(200'000, 'x')), count, hours(1));
      co_await sleep(milliseconds(1));
    }
    EXPECT_TRUE(channel.is_connected());
    EXPECT_EQ(channel.stats().under_way + refused, channel.stats().calls);
    channel.stop();
    server.connections.at(0)->abort();
    co_await until([&] { return server.connections.empty(); });
  });
}

TEST_P(RpcChannelReconnectTest, calls_that_ended_unsent_leave_room_for_others) {
  RpcChannelOptions options = reconnecting_soon();
  options.most_unsent_bytes = 2'000;
  run([&]() -> Task<> {
    RpcChannel channel(loop(), options);
    const std::string payload(1'500, 'x');
    for (int i = 0; i < 20; ++i) {
      const RpcCallId call = channel.call(&EchoService::Echo, echo_of(payload), noting());
      EXPECT_TRUE(channel.cancel(call)) << i;
    }
    for (int i = 0; i < 3; ++i) {
      notes.push_back(said_by(co_await channel.call(&EchoService::Echo, echo_of(payload)).within(milliseconds(1))));
      channel.call(&EchoService::Echo, echo_of(payload), noting(), milliseconds(1));
      co_await until([&] { return notes.size() % 2 == 0; });
    }
    EXPECT_THAT(notes, AllOf(SizeIs(6), Each(error_text(errno_code(ETIMEDOUT)))));
    for (int i = 0; i < 3; ++i) call_noting(channel, payload);
    co_await until([&] { return notes.size() == 7; });
    EXPECT_EQ(notes.back(), too_many());
    ScriptedRpcServer server(loop(), answer_truly);
    EXPECT_TRUE(channel.connect(server.address()));
    co_await until([&] { return notes.size() == 9; });
    EXPECT_THAT(server.calls, SizeIs(2)) << "the others had ended";
    channel.stop();
    co_await until([&] { return server.connections.empty(); });
  });
}

PEAL_TEST_ON_EVERY_PORT(RpcChannelReconnectTest);

}  // namespace
}  // namespace peal
