// SPDX-License-Identifier: BSD-3-Clause
// RpcBalancer: these tests check how calls end that get no answer.

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <google/protobuf/stubs/callback.h>
#include <gtest/gtest.h>

#include <tests/protobuf/rpc_balancer_rig.h>

namespace peal {
namespace {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;
using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;

class RpcBalancerEndTest : public test::RpcBalancerRig {};

TEST_P(RpcBalancerEndTest, killed_server_loses_what_was_sent_to_it_and_nothing_else) {
  balance(2, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    for (const auto& server : servers) server->holds = true;
    for (int i = 0; i < 20; ++i) begin_call(*balancer, i);
    co_await until([&] { return servers[0]->calls + servers[1]->calls == 20; });
    const auto lost = static_cast<size_t>(servers[0]->calls);
    EXPECT_GT(lost, 0u);
    servers[0]->go();
    co_await until([&] { return notes.size() == lost; });
    EXPECT_THAT(notes, Each("lost"));
    EXPECT_EQ(balancer->stats().servers.at(0).calls.failed, lost);
    notes.clear();
    for (int i = 0; i < 10; ++i) begin_call(*balancer, i);
    servers[1]->holds = false;
    co_await until([&] { return balancer->stats().under_way == 0; });
    EXPECT_EQ(notes.size(), 30 - lost);
    EXPECT_THAT(notes, testing::Not(testing::Contains("lost")));
    EXPECT_EQ(servers[1]->calls, static_cast<int>(30 - lost)) << "a lost call was repeated";

    servers[0]->holds = false;
    servers[0]->come();
    co_await until([&] { return connected(*balancer) == 2; });
    co_await until([&] {
      begin_call(*balancer, 0);
      return servers[0]->calls > static_cast<int>(lost);
    });
    co_await until([&] { return balancer->stats().under_way == 0; });
  });
}

TEST_P(RpcBalancerEndTest, deadline_ends_calls_that_wait_and_calls_that_were_sent) {
  balance(1, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    servers[0]->holds = true;
    co_await await_call(*balancer, 1, milliseconds(5));
    begin_call(*balancer, 2, milliseconds(5));
    co_await until([&] { return notes.size() == 2; });
    co_await until([&] { return servers[0]->under_way() == 0; });
    servers[0]->go();
    co_await until([&] { return !balancer->is_connected(); });
    co_await await_call(*balancer, 3, milliseconds(5));
    begin_call(*balancer, 4, milliseconds(5));
    co_await until([&] { return notes.size() == 4; });
    EXPECT_THAT(notes, Each("timed out"));
    EXPECT_EQ(balancer->stats().timed_out, 4u);
    EXPECT_EQ(balancer->stats().waiting, 0u);
    EXPECT_EQ(balancer->stats().servers.at(0).calls.timed_out, 2u);
  });
}

TEST_P(RpcBalancerEndTest, cancelled_call_is_not_called_back) {
  balance(1, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    servers[0]->holds = true;
    const RpcCallId sent = begin_call(*balancer, 1);
    co_await until([&] { return servers[0]->under_way() == 1; });
    EXPECT_TRUE(balancer->cancel(sent));
    EXPECT_FALSE(balancer->cancel(sent));
    co_await until([&] { return servers[0]->under_way() == 0; });
    servers[0]->go();
    co_await until([&] { return !balancer->is_connected(); });
    const RpcCallId waiting = begin_call(*balancer, 2);
    EXPECT_TRUE(balancer->cancel(waiting));
    EXPECT_EQ(balancer->stats().waiting, 0u);
    servers[0]->holds = false;
    servers[0]->come();
    co_await await_call(*balancer, 3);
    EXPECT_EQ(balancer->stats().cancelled, 2u);
    EXPECT_EQ(servers[0]->calls, 2);
  });
  EXPECT_THAT(notes, ElementsAre("3"));
}

TEST_P(RpcBalancerEndTest, balancer_is_destroyed_in_the_callback_of_an_answer) {
  balance(2, [this](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    for (const auto& server : servers) server->holds = true;
    for (int i = 0; i < 20; ++i) {
      balancer->call(&EchoService::Echo, test::balanced_request(i), [&](const Result<EchoResponse>& answer) {
        notes.push_back(answer ? "answered" : "failed");
        balancer.reset();
      });
    }
    co_await until([&] { return servers[0]->calls + servers[1]->calls == 20; });
    for (const auto& server : servers) server->holds = false;
    co_await until([&] { return balancer == nullptr; });
    co_await until([&] { return servers[0]->connections() + servers[1]->connections() == 0; });
  });
  EXPECT_THAT(notes, ElementsAre("answered"));
}

TEST_P(RpcBalancerEndTest, balancer_is_destroyed_in_the_callback_of_a_lost_call) {
  int done = 0;
  balance(2, [&](Backends& servers, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
    for (const auto& server : servers) server->holds = true;
    EchoService::Stub stub(balancer.get());
    const EchoRequest request = test::balanced_request(1);
    EchoResponse response;
    stub.Echo(nullptr, &request, &response, google::protobuf::NewCallback(+[](int* them) { ++*them; }, &done));
    for (int i = 0; i < 20; ++i) {
      balancer->call(&EchoService::Echo, test::balanced_request(i), [&](const Result<EchoResponse>& answer) {
        notes.push_back(test::balanced_text(answer));
        balancer.reset();
      });
    }
    co_await until([&] { return servers[0]->calls + servers[1]->calls == 21; });
    EXPECT_TRUE(balancer->remove(servers[0]->address));
    servers[0]->go();
    co_await until([&] { return balancer == nullptr; });
    co_await settle();
  });
  EXPECT_THAT(notes, ElementsAre("lost"));
  EXPECT_EQ(done, 1) << "a stub's call ends with its balancer";
}

TEST_P(RpcBalancerEndTest, request_that_cannot_be_sent_throws_before_it_waits) {
  RpcBalancerOptions options = test::quick_to_connect();
  options.channel.limit_bytes = 200;
  balance(
      0,
      [](Backends&, std::unique_ptr<RpcBalancer>& balancer) -> Task<> {
        EchoRequest request;
        request.set_payload(std::string(300, 'x'));
        EXPECT_THROW(balancer->call(&EchoService::Echo, request, [](const Result<EchoResponse>&) { FAIL(); }),
                     std::invalid_argument);
        EXPECT_EQ(balancer->stats().under_way, 0u);
        EXPECT_EQ(balancer->stats().waiting, 0u);
        co_return;
      },
      options);
}

TEST_P(RpcBalancerEndTest, end_of_the_loop_ends_calls_that_wait) {
  RpcBalancer balancer(loop(), test::quick_to_connect());
  run_into_the_end([&]() -> Task<> {
    begin_call(balancer, 1);
    co_await await_call(balancer, 2);
  });
  begin_call(balancer, 3);
  EXPECT_EQ(balancer.stats().under_way, 0u) << "a call after the end of the loop waits for nothing";
  EXPECT_THAT(notes, ElementsAre("loop stopped", "loop stopped"));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(RpcBalancerEndTest);

}  // namespace
}  // namespace peal
