// SPDX-License-Identifier: BSD-3-Clause
// RpcBalancer: these tests check to which server a call goes, and when it waits.
#include <peal/protobuf/rpc/rpc_balancer.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/coro/when.h>
#include <tests/protobuf/rpc_balancer_rig.h>

namespace peal {
namespace {

using echo::EchoResponse;
using echo::EchoService;
using std::chrono::hours;
using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;

class RpcBalancerTest : public test::RpcBalancerRig {};

TEST_P(RpcBalancerTest, equal_servers_share_the_calls) {
  balance(3, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    for (const auto& server : servers) server->holds = true;
    for (int i = 0; i < 300; ++i) begin_call(*balancer, i);
    co_await until([&] { return servers[0]->calls + servers[1]->calls + servers[2]->calls == 300; });
    for (const auto& server : servers) {
      EXPECT_GE(server->calls, 90);
      server->holds = false;
    }
    co_await until([&] { return balancer->stats().under_way == 0; });
    EXPECT_EQ(balancer->stats().answered, 300u);
    EXPECT_EQ(notes.size(), 300u);
    for (int i = 0; i < 90; ++i) co_await await_call(*balancer, i);
    for (const auto& server : servers) EXPECT_GE(server->calls, 110) << "those of single calls are drawn evenly";
  });
}

TEST_P(RpcBalancerTest, slow_server_gets_no_call_while_others_have_fewer) {
  balance(3, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    servers[0]->holds = true;
    for (int i = 0; i < 50; ++i) {
      begin_call(*balancer, i);
      co_await until([&] { return balancer->stats().under_way == static_cast<size_t>(servers[0]->calls); });
    }
    EXPECT_EQ(servers[0]->calls, 1);
    EXPECT_EQ(notes.size(), 49u);
    EXPECT_EQ(balancer->stats().servers.at(0).calls.under_way, 1u);
  });
}

TEST_P(RpcBalancerTest, calls_wait_in_order_while_all_servers_are_down) {
  balance(2, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    for (const auto& server : servers) server->go();
    co_await until([&] { return !balancer->is_connected(); });
    begin_call(*balancer, 1);
    std::vector<Task<>> waiting;
    waiting.push_back(await_call(*balancer, 2));
    waiting.push_back([](Backends& them, RpcBalancer& calls) -> Task<> {
      co_await until([&] { return calls.stats().waiting == 2; });
      EXPECT_EQ(calls.stats().under_way, 2u);
      them[1]->come();
    }(servers, *balancer));
    co_await when_all(std::move(waiting));
    EXPECT_THAT(notes, ElementsAre("1", "2"));
    EXPECT_EQ(balancer->stats().waiting, 0u);
    EXPECT_EQ(balancer->stats().servers.at(1).calls.calls, 2u);
  });
}

TEST_P(RpcBalancerTest, calls_fail_at_once_without_a_server_if_they_shall_not_wait) {
  RpcBalancerOptions options = test::quick_to_connect();
  options.waits_for_connection = false;
  balance(
      0,
      [this](Backends&, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
        co_await await_call(*balancer, 1);
        begin_call(*balancer, 2);
        EXPECT_EQ(notes.size(), 1u) << "called back inside of the call";
        co_await until([&] { return notes.size() == 2; });
        EXPECT_EQ(balancer->stats().failed, 2u);
      },
      options);
  EXPECT_THAT(notes, ElementsAre("not connected", "not connected"));
}

TEST_P(RpcBalancerTest, removed_server_finishes_what_is_under_way) {
  balance(2, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    for (const auto& server : servers) server->holds = true;
    for (int i = 0; i < 10; ++i) begin_call(*balancer, i);
    co_await until([&] { return servers[0]->calls + servers[1]->calls == 10; });
    const int kept = servers[0]->calls;
    EXPECT_GT(kept, 0);
    EXPECT_TRUE(balancer->remove(servers[0]->address));
    EXPECT_FALSE(balancer->remove(servers[0]->address));
    EXPECT_TRUE(balancer->stats().servers.at(1).removed);
    for (int i = 0; i < 10; ++i) begin_call(*balancer, i);
    co_await until([&] { return servers[0]->calls + servers[1]->calls == 20; });
    EXPECT_EQ(servers[0]->calls, kept);
    EXPECT_EQ(servers[0]->connections(), 1u);

    for (const auto& server : servers) server->holds = false;
    co_await until([&] { return servers[0]->connections() == 0; });
    co_await until([&] { return notes.size() == 20; });
    EXPECT_EQ(balancer->stats().answered, 20u);
    EXPECT_EQ(balancer->stats().servers.size(), 1u);
    EXPECT_TRUE(balancer->add(servers[0]->address));
    EXPECT_EQ(balancer->add(servers[0]->address).error(), errno_code(EALREADY));
    co_await until([&] { return connected(*balancer) == 2; });
    EXPECT_TRUE(balancer->remove(servers[0]->address));
    EXPECT_EQ(balancer->stats().servers.size(), 1u) << "without calls under way it is gone at once";
    EXPECT_FALSE(balancer->add("no address"));
    EXPECT_EQ(balancer->stats().servers.size(), 1u);
  });
}

TEST_P(RpcBalancerTest, call_waits_for_a_server_that_is_added) {
  balance(0, [this](Backends&, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    test::BalancedServer server(loop());
    begin_call(*balancer, 1);
    EXPECT_EQ(balancer->stats().waiting, 1u);
    co_await sleep(milliseconds(20));
    EXPECT_TRUE(balancer->add(server.address));
    co_await until([&] { return notes.size() == 1; });
    EXPECT_LE(server.time_left, hours(1) - milliseconds(20)) << "the server is told how much of the deadline is left";
    EXPECT_GT(server.time_left, Duration::zero());
    balancer.reset();
  });
  EXPECT_THAT(notes, ElementsAre("1"));
}

TEST_P(RpcBalancerTest, servers_are_removed_in_the_callbacks_of_their_calls) {
  balance(3, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    for (int i = 0; i < 30; ++i) {
      balancer->call(&EchoService::Echo, test::balanced_request(i), [&](const Result<EchoResponse>& answer) {
        notes.push_back(answer ? "answered" : "failed");
        for (const auto& server : servers) balancer->remove(server->address);
      });
    }
    co_await until([&] { return notes.size() == 30; });
    EXPECT_TRUE(balancer->stats().servers.empty());
    for (const auto& server : servers) co_await until([&] { return server->connections() == 0; });
  });
  EXPECT_THAT(notes, Each("answered"));
}

TEST_P(RpcBalancerTest, calls_over_the_limits_are_refused) {
  RpcBalancerOptions options = test::quick_to_connect();
  options.channel.most_calls = 2;
  balance(
      2,
      [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
        for (const auto& server : servers) server->holds = true;
        for (int i = 0; i < 4; ++i) begin_call(*balancer, i);
        co_await until([&] { return servers[0]->calls == 2 && servers[1]->calls == 2; });
        co_await await_call(*balancer, 4);
        EXPECT_THAT(notes, ElementsAre("too many"));
      },
      options);
}

TEST_P(RpcBalancerTest, waiting_calls_over_the_limit_are_refused) {
  RpcBalancerOptions options = test::quick_to_connect();
  options.most_calls = 1;
  balance(
      0,
      [this](Backends&, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
        const RpcCallId waiting = begin_call(*balancer, 1);
        co_await await_call(*balancer, 2);
        EXPECT_TRUE(balancer->cancel(waiting));
      },
      options);
  EXPECT_THAT(notes, ElementsAre("too many"));
  options.most_calls = 0;
  EXPECT_THROW(RpcBalancer(loop(), options), std::invalid_argument);
}

TEST_P(RpcBalancerTest, waiting_calls_beyond_a_servers_limit_follow_as_others_end) {
  RpcBalancerOptions options = test::quick_to_connect();
  options.channel.most_calls = 2;
  balance(
      0,
      [this](Backends&, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
        for (int i = 0; i < 7; ++i) begin_call(*balancer, i);
        test::BalancedServer server(loop());
        EXPECT_TRUE(balancer->add(server.address));
        co_await until([&] { return notes.size() == 7; });
        balancer.reset();
      },
      options);
  EXPECT_THAT(notes, testing::UnorderedElementsAre("0", "1", "2", "3", "4", "5", "6"));
}

// Otherwise a caller that makes each new call in the callback of the last one would keep the server busy, and the
// waiting call would never be sent.
TEST_P(RpcBalancerTest, waiting_call_is_not_overtaken_by_one_made_in_a_callback) {
  RpcBalancerOptions options = test::quick_to_connect();
  options.channel.most_calls = 1;
  balance(
      0,
      [this](Backends&, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
        balancer->call(&EchoService::Echo, test::balanced_request(1), [&](const Result<EchoResponse>& answer) {
          notes.push_back(test::balanced_text(answer));
          begin_call(*balancer, 3);
        });
        begin_call(*balancer, 2);
        test::BalancedServer server(loop());
        EXPECT_TRUE(balancer->add(server.address));
        co_await until([&] { return notes.size() == 3; });
        EXPECT_EQ(server.calls, 2);
        balancer.reset();
      },
      options);
  EXPECT_THAT(notes, testing::UnorderedElementsAre("1", "2", "too many"));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(RpcBalancerTest);

}  // namespace
}  // namespace peal
