// SPDX-License-Identifier: BSD-3-Clause
// RpcChannel: coroutines and callbacks of other threads make calls, and calls are made over a faulty network of the
// simulator.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/coro/run_on.h>
#include <peal/coro/scope.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <peal/share/loop_object.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/rpc_channel_rig.h>
#include <tests/support/loop_thread.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::echo_of;
using test::EchoAnswer;
using test::error_text;
using test::said_by;
using testing::ElementsAre;

class RpcChannelLoopsTest : public test::RpcChannelRig {};

// Calls a method over a channel that lives on another loop. run_on() runs this task on the channel's loop.
Task<EchoAnswer> echo_over(OnLoop<RpcChannel> channel, EchoRequest request) {
  co_return co_await channel.here()->call(&EchoService::Echo, request).within(hours(1));
}

TEST_P(RpcChannelLoopsTest, coroutine_and_callback_of_another_thread_call) {
  test::LoopThread away(options());
  run([&]() -> Task<> {
    test::ScriptedRpcServer server(loop(), test::answer_truly);
    const OnLoop<RpcChannel> channel(away.loop());
    EXPECT_TRUE(co_await channel.ask([&](RpcChannel& its) { return its.connect(server.address()); }));
    notes.push_back(said_by(co_await run_on(away.loop(), echo_over(channel, echo_of("coroutine")))));
    Mailbox& home = *loop().mailbox();
    channel.tell([this, &home](RpcChannel& its) {
      its.call(&EchoService::Echo, echo_of("callback"), [this, &home](EchoAnswer answer) {
        home.post([this, answer = std::move(answer)] { notes.push_back(said_by(answer)); });
      });
    });
    co_await until([&] { return notes.size() == 2; });
    EXPECT_THAT(notes, ElementsAre("coroutine", "callback"));
    EXPECT_TRUE(co_await channel.ask([](RpcChannel& its) { its.stop(); }));
    co_await until([&] { return server.connections.empty(); });
  });
}

TEST_P(RpcChannelLoopsTest, loop_of_the_channel_ends_while_another_thread_waits) {
  std::optional<test::LoopThread> away(std::in_place, options());
  const auto wait = [this](Loop& far, OnLoop<RpcChannel> channel) -> Task<> {
    notes.push_back(said_by(co_await run_on(far, echo_over(channel, echo_of("waits for a connection")))));
  };
  run([&]() -> Task<> {
    const OnLoop<RpcChannel> channel(away->loop());
    Scope scope(loop());
    scope.spawn(wait(away->loop(), channel));
    for (uint64_t calls = 0; calls == 0; co_await sleep(milliseconds(1)))
      calls = (co_await channel.ask([](RpcChannel& its) { return its.stats().calls; })).value();
    away->finish();
    co_await scope.join();
  });
  EXPECT_THAT(notes, ElementsAre(error_text(make_error_code(Trouble::kLoopStopped))));
}

PEAL_TEST_ON_EVERY_ENGINE(RpcChannelLoopsTest);

TEST(RpcChannelDeathTest, awaited_by_a_coroutine_of_another_loop) {
  const auto await_elsewhere = [] {
    test::LoopThread away(LoopOptions{});
    RpcChannel channel(away.loop());
    const test::Standstill away_runs(away.loop());
    const auto echo = [&channel]() -> Task<> { co_await channel.call(&EchoService::Echo, echo_of("x")); };
    Loop loop;
    Scope scope(loop);
    scope.spawn(echo());
    static_cast<void>(loop.run());
  };
  EXPECT_DEATH(await_elsewhere(), "a coroutine of another loop awaits a call of echo.EchoService.Echo");
}

class RpcChannelSimTest : public test::SimTest {};

// The server is also stopped and started again meanwhile.
TEST_F(RpcChannelSimTest, each_call_ends_once_with_its_own_answer) {
  on_seeds(30, rough(), [](test::SimPair& pair) {
    std::optional<RpcServer> server;
    const auto serve = [&](const std::string& address) {
      server.emplace(*pair.here);
      server->handle(&EchoService::Echo, [](RpcCall&, const EchoRequest& request, EchoResponse& response) {
        response.set_payload(request.payload());
      });
      return pair.listen(*server, address);
    };
    const SocketAddress address = serve("127.0.0.1:0");
    RpcChannel channel(*pair.there, test::reconnecting_soon());
    ASSERT_TRUE(channel.connect(address));
    std::vector<int> ended(200);
    size_t ends = 0;
    for (size_t i = 0; i < ended.size(); ++i) {
      const auto note_end = [&, i](const EchoAnswer& answer) {
        ++ends;
        ++ended[i];
        EXPECT_TRUE(!answer || answer->payload() == std::to_string(i));
      };
      channel.call(&EchoService::Echo, echo_of(std::to_string(i)), note_end, i % 3 == 0 ? milliseconds(i) : hours(1));
      if (i % 10 == 0) pair.run_for(milliseconds(1));
      if (i == 80) server.reset();
      if (i == 120) serve(address.to_string());
    }
    EXPECT_TRUE(pair.run_until([&] { return ends == ended.size(); }));
    EXPECT_THAT(ended, testing::Each(1));
    const RpcChannelStats stats = channel.stats();
    EXPECT_EQ(stats.answered + stats.failed + stats.timed_out, ended.size());
    EXPECT_GT(stats.answered, 0u);
    EXPECT_EQ(stats.under_way, 0u);
  });
}

}  // namespace
}  // namespace peal
