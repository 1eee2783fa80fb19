// SPDX-License-Identifier: BSD-3-Clause
// An RpcServer and an RpcChannel on one loop: these tests check how calls are answered and how each of them ends.
#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/coro/sleep.h>
#include <peal/coro/when.h>
#include <peal/protobuf/rpc/rpc_balancer.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/rpc_channel_rig.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/files/temporary_folder.h>

namespace peal {
namespace {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;
using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;

EchoRequest request_of(std::string payload) {
  EchoRequest request;
  request.set_payload(std::move(payload));
  return request;
}

std::string text_of(const Result<EchoResponse>& answer) {
  return answer ? answer->payload() : "error: " + answer.error().message();
}

void echo_back(RpcCall&, const EchoRequest& request, EchoResponse& response) {
  response.set_payload(request.payload());
}

class RpcCallTest : public test::TaskTest {
 protected:
  // Starts a server with the methods that `prepare` adds, connects a channel to it, and runs `body` with both.
  void serve(const std::function<void(RpcServer&)>& prepare, const std::function<Task<>(RpcServer&, RpcChannel&)>& body,
             const RpcServerOptions& server_options = {}, const RpcChannelOptions& channel_options = {}) {
    run([&]() -> Task<> {
      RpcServer server(loop(), server_options);
      prepare(server);
      const Result<SocketAddress> address = server.listen(listens_on);
      EXPECT_TRUE(address);
      RpcChannel channel(loop(), channel_options);
      EXPECT_TRUE(channel.connect(*address));
      co_await body(server, channel);
      channel.stop();
      co_await settle();
    });
  }

  std::string listens_on = "127.0.0.1:0";
};

TEST_P(RpcCallTest, function_and_coroutine_answer) {
  serve(
      [](RpcServer& server) {
        server.handle(&EchoService::Echo, echo_back);
        server.handle(&EchoService::Reverse,
                      [](RpcCall& call, const EchoRequest& request, EchoResponse& response) -> Task<> {
                        co_await sleep(milliseconds(1));
                        EXPECT_EQ(call.method().name(), "Reverse");
                        EXPECT_GT(call.time_left(), Duration::zero());
                        response.set_payload(std::string(request.payload().rbegin(), request.payload().rend()));
                      });
      },
      [this](RpcServer&, RpcChannel& channel) -> Task<> {
        notes.push_back(text_of(co_await channel.call(&EchoService::Echo, request_of("one"))));
        notes.push_back(text_of(co_await channel.call(&EchoService::Reverse, request_of("two")).within(hours(1))));
      });
  EXPECT_THAT(notes, ElementsAre("one", "owt"));
}

TEST_P(RpcCallTest, deadline_ends_the_call_on_both_sides) {
  std::string handler_saw;
  serve(
      [&](RpcServer& server) {
        server.handle(&EchoService::Echo, [&](RpcCall& call, const EchoRequest&, EchoResponse&) -> Task<> {
          const Result<void> slept = co_await sleep(hours(1));
          handler_saw = slept.error().message();
          EXPECT_TRUE(call.is_cancelled());
        });
      },
      [&](RpcServer& server, RpcChannel& channel) -> Task<> {
        // The test waits for the connection, because a call is never sent if its deadline passes before that.
        co_await until([&] { return channel.is_connected(); });
        notes.push_back(text_of(co_await channel.call(&EchoService::Echo, request_of("slow")).within(milliseconds(5))));
        co_await until([&] { return !handler_saw.empty(); });
        EXPECT_EQ(server.stats().methods.at(0).under_way, 0u);
        EXPECT_EQ(channel.stats().under_way, 0u);
        EXPECT_EQ(channel.stats().timed_out, 1u);
      });
  EXPECT_THAT(notes, ElementsAre("error: " + errno_code(ETIMEDOUT).message()));
}

TEST_P(RpcCallTest, errors_of_the_server_are_answers) {
  serve(
      [](RpcServer& server) {
        server.handle(&EchoService::Echo, [](RpcCall& call, const EchoRequest& request, EchoResponse& response) {
          if (request.payload() == "throw") throw std::runtime_error("no");
          if (request.payload() == "fail") return call.fail(RpcTrouble::kOverloaded);
          if (request.payload() == "nothing") return;
          response.set_payload(request.payload());
        });
      },
      [this](RpcServer& server, RpcChannel& channel) -> Task<> {
        for (const char* payload : {"throw", "fail", "nothing", "well"})
          notes.push_back(text_of(co_await channel.call(&EchoService::Echo, request_of(payload))));
        notes.push_back(text_of(co_await channel.call(&EchoService::Reverse, request_of("x"))));
        EXPECT_EQ(server.stats().methods.at(0).calls, 4u);
        EXPECT_EQ(server.stats().methods.at(0).failed, 3u);
        EXPECT_EQ(server.stats().methods.at(0).threw, 1u);
        EXPECT_EQ(server.stats().unknown, 1u);
      });
  const auto error = [](RpcTrouble why) { return "error: " + make_error_code(why).message(); };
  EXPECT_THAT(notes, ElementsAre(error(RpcTrouble::kBadResponse), error(RpcTrouble::kOverloaded),
                                 error(RpcTrouble::kBadResponse), "well", error(RpcTrouble::kNoMethod)));
}

TEST_P(RpcCallTest, many_calls_are_under_way_at_once) {
  serve(
      [](RpcServer& server) {
        server.handle(&EchoService::Echo, [](RpcCall&, const EchoRequest& request, EchoResponse& response) -> Task<> {
          if (request.payload().back() == '7') co_await sleep(milliseconds(1));
          response.set_payload(request.payload());
        });
      },
      [](RpcServer&, RpcChannel& channel) -> Task<> {
        std::vector<Task<bool>> calls;
        const auto call = [](RpcChannel& its_channel, std::string payload) -> Task<bool> {
          const EchoRequest request = request_of(payload);
          const Result<EchoResponse> answer = co_await its_channel.call(&EchoService::Echo, request);
          co_return answer && answer->payload() == payload;
        };
        for (int i = 0; i < 500; ++i) calls.push_back(call(channel, std::to_string(i)));
        EXPECT_THAT(co_await when_all(std::move(calls)), testing::Each(true));
      });
}

TEST_P(RpcCallTest, channel_that_was_stopped_connects_while_its_old_connection_still_ends) {
  RpcChannelOptions options;
  options.client.connection.linger_timeout = milliseconds(1);
  const auto body = [&](RpcServer& server, RpcChannel& channel) -> Task<> {
    const Result<SocketAddress> address = server.server().listen("127.0.0.1:0");
    ConnectionCallbacks silent;
    bool accepted = false;
    silent.on_open = [&](Connection& connection) {
      connection.pause();  // so the server never notices that the channel closes the connection
      accepted = true;
    };
    Server deaf(loop(), std::move(silent));
    channel.stop();
    EXPECT_TRUE(channel.connect(*deaf.listen("127.0.0.1:0")));
    co_await until([&] { return accepted && channel.is_connected(); });
    channel.stop();
    EXPECT_TRUE(channel.connect(*address));
    for (int i = 0; i < 20; ++i) {
      notes.push_back(text_of(co_await channel.call(&EchoService::Echo, request_of("one")).within(hours(1))));
      co_await sleep(milliseconds(1));
      if (!channel.is_connected()) co_return notes.push_back("lost");
    }
  };
  serve([](RpcServer& server) { server.handle(&EchoService::Echo, echo_back); }, body, {}, options);
  EXPECT_EQ(notes, std::vector<std::string>(20, "one"));
}

// Each side has more bytes to write than the buffers between them hold. The server pauses reading at its limits again
// and again.
TEST_P(RpcCallTest, large_calls_fill_the_connection_both_ways) {
  serve(
      [](RpcServer& server) {
        server.handle(&EchoService::Echo, [](RpcCall&, const EchoRequest& request, EchoResponse& response) -> Task<> {
          co_await sleep({});
          response.set_payload(request.payload());
        });
      },
      [](RpcServer&, RpcChannel& channel) -> Task<> {
        std::vector<Task<bool>> calls;
        const auto call = [](RpcChannel& its_channel) -> Task<bool> {
          const EchoRequest request = request_of(std::string(100'000, 'x'));
          const Result<EchoResponse> answer = co_await its_channel.call(&EchoService::Echo, request).within(hours(1));
          co_return answer && answer->payload() == request.payload();
        };
        for (int i = 0; i < 60; ++i) calls.push_back(call(channel));
        EXPECT_THAT(co_await when_all(std::move(calls)), testing::Each(true));
      },
      {.most_calls_per_connection = 5, .most_request_bytes_per_connection = 250'000});
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(RpcCallTest);

class RpcUnixCallTest : public RpcCallTest {
 protected:
  void SetUp() override {
    RpcCallTest::SetUp();
    listens_on = "unix:" + folder.path("socket");
  }

  const test::TemporaryFolder folder;
};

TEST_P(RpcUnixCallTest, channel_and_balancer_call_a_server_at_a_path) {
  serve([](RpcServer& server) { server.handle(&EchoService::Echo, echo_back); },
        [this](RpcServer&, RpcChannel& channel) -> Task<> {
          const EchoRequest request = request_of(std::string(300'000, 'x'));
          RpcBalancer balancer(loop());
          EXPECT_TRUE(balancer.add(listens_on));
          EXPECT_EQ(text_of(co_await channel.call(&EchoService::Echo, request).within(hours(1))), request.payload());
          EXPECT_EQ(text_of(co_await balancer.call(&EchoService::Echo, request).within(hours(1))), request.payload());
        });
}

TEST_P(RpcUnixCallTest, channel_connects_again_once_a_server_is_at_the_path) {
  run([&]() -> Task<> {
    const auto at_path = [this] {
      auto server = std::make_unique<RpcServer>(loop());
      server->handle(&EchoService::Echo, echo_back);
      EXPECT_TRUE(server->listen(listens_on));
      return server;
    };
    RpcChannel channel(loop(), test::reconnecting_soon());
    EXPECT_TRUE(channel.connect(SocketAddress::parse(listens_on).value()));
    for (int i = 0; i < 2; ++i) {
      channel.call(&EchoService::Echo, request_of("one"),
                   [this](const Result<EchoResponse>& answer) { notes.push_back(text_of(answer)); });
      co_await sleep(milliseconds(5));
      auto server = at_path();
      co_await until([&] { return notes.size() == static_cast<size_t>(i) + 1; });
      server.reset();
      co_await until([&] { return !channel.is_connected() && !std::filesystem::exists(folder.path("socket")); });
    }
    channel.stop();
  });
  EXPECT_THAT(notes, ElementsAre("one", "one"));
}

PEAL_TEST_ON_EVERY_ENGINE(RpcUnixCallTest);

}  // namespace
}  // namespace peal
