// SPDX-License-Identifier: BSD-3-Clause
// The inspector shows the methods of an RpcServer.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/coro/sleep.h>
#include <peal/inspect/inspector.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

EchoRequest request_to_be_shown(std::string payload) {
  EchoRequest request;
  request.set_payload(std::move(payload));
  return request;
}

void answer_at_once(RpcCall& call, const EchoRequest& request, EchoResponse& response) {
  if (request.payload() == "fail") return call.fail(RpcTrouble::kOverloaded);
  response.set_payload(request.payload());
}

// The server runs on two threads of its own, and the clients on the loop of the test. The test blocks its loop while it
// fetches the inspector's page, so only the clients are stopped meanwhile.
class RpcInspectorTest : public test::TaskTest {
 protected:
  void SetUp() override {
    TaskTest::SetUp();
    if (IsSkipped()) return;
    group = LoopGroup::start(2, {.engine = "epoll"}).value();
    server = std::make_unique<RpcServer>(*group, RpcServerOptions{.server = {.accept = AcceptMode::kRoundRobin}});
    inspector = Inspector::start("127.0.0.1:0").value();
  }
  void TearDown() override {
    inspector.reset();
    server.reset();
    group.reset();
    TaskTest::TearDown();
  }
  std::string get(std::string_view path, const std::string& fields = {}) {
    return test::http_answer(inspector->address(), fmt::format("GET {}", path), fields);
  }
  // Makes `calls` calls, of which the first `failing` fail.
  static Task<> call_echo(RpcChannel& channel, int calls, int failing) {
    for (int i = 0; i < calls; ++i) {
      const EchoRequest request = request_to_be_shown(i < failing ? "fail" : "well");
      const Result<EchoResponse> answer = co_await channel.call(&EchoService::Echo, request);
      EXPECT_EQ(answer.has_value(), i >= failing);
    }
  }

  std::unique_ptr<LoopGroup> group;
  std::unique_ptr<RpcServer> server;
  std::unique_ptr<Inspector> inspector;
};

TEST_P(RpcInspectorTest, methods_are_on_the_page_in_the_json_and_in_the_metrics) {
  server->handle(&EchoService::Echo, answer_at_once);
  server->handle(&EchoService::Reverse,
                 [](RpcCall&, const EchoRequest&, EchoResponse&) -> Task<> { co_await sleep(std::chrono::hours(1)); });
  inspector->add(server->server(), "rpc", server->method_views());
  const SocketAddress address = server->listen("127.0.0.1:0").value();
  run([&]() -> Task<> {
    std::vector<std::unique_ptr<RpcChannel>> channels;
    for (int i = 0; i < 2; ++i) {
      channels.push_back(std::make_unique<RpcChannel>(loop()));
      EXPECT_TRUE(channels.back()->connect(address));
      co_await call_echo(*channels.back(), 3 + i, 1);
    }
    Scope waits(loop());
    waits.spawn([](RpcChannel& channel) -> Task<> {
      co_await channel.call(&EchoService::Reverse, request_to_be_shown("waits"));
    }(*channels[0]));
    while (
        !get("/servers?format=json").contains("\"method\":\"echo.EchoService.Reverse\",\"calls\":1,\"under_way\":1,"))
      co_await settle();
    EXPECT_THAT(get("/servers?format=json"),
                ContainsRegex("\"method\":\"echo.EchoService.Echo\",\"calls\":7,\"under_way\":0,\"failed\":2,"
                              "\"timed_out\":0,\"cancelled\":0,\"handler_exceptions\":0,"
                              "\"latency_p50_seconds\":[0-9.e-]*[1-9]"));
    const std::string_view labels = "{server=\"0\",name=\"rpc\",method=\"echo.EchoService.Echo\"}";
    EXPECT_THAT(get("/metrics"), AllOf(HasSubstr(fmt::format("\npeal_method_calls_total{} 7\n", labels)),
                                       HasSubstr(fmt::format("\npeal_method_failed_calls_total{} 2\n", labels)),
                                       HasSubstr(fmt::format("\npeal_method_latency_seconds_count{} 7\n", labels)),
                                       HasSubstr("\npeal_method_calls_under_way{server=\"0\",name=\"rpc\","
                                                 "method=\"echo.EchoService.Reverse\"} 1\n")));
    for (const char* path : {"/servers", "/server/0"}) {
      EXPECT_THAT(get(path, "Accept: text/html\r\n"),
                  AllOf(HasSubstr("<section id=\"methods\">"),
                        HasSubstr(">echo.EchoService.Echo</a></td><td data-label=\"calls\" class=\"n\">7</td>")))
          << path;
    }
    const std::string one = get("/method?server=0&name=echo.EchoService.Echo&format=json");
    EXPECT_THAT(
        one, HasSubstr("{\"method\":{\"server\":0,\"name\":\"rpc\",\"method\":\"echo.EchoService.Echo\",\"calls\":7,"));
    EXPECT_THAT(one, Not(HasSubstr("Reverse")));
    for (const char* path :
         {"/method?server=0&name=echo", "/method?server=1&name=echo.EchoService.Echo", "/method",
          "/method?server=x&name=echo.EchoService.Echo", "/route?server=0&name=echo.EchoService.Echo"}) {
      EXPECT_THAT(get(path), testing::StartsWith("HTTP/1.1 404 ")) << path;
    }
    for (const auto& channel : channels) channel->stop();
    co_await waits.join();
    co_await settle();
  });
}

TEST_P(RpcInspectorTest, server_that_is_gone_is_not_shown_and_its_views_tell_nothing_and_keep_nothing) {
  const auto kept = std::make_shared<int>();
  server->handle(&EchoService::Echo, [kept](RpcCall&, const EchoRequest&, EchoResponse&) {});
  const std::vector<std::function<std::vector<MethodStats>()>> views = server->method_views();
  inspector->add(server->server(), "rpc", views);
  ASSERT_THAT(views, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<MethodStats> methods = test::ask((*group)[i], views[i]);
    ASSERT_THAT(methods, SizeIs(1));
    EXPECT_EQ(methods[0].name, "echo.EchoService.Echo");
  }
  EXPECT_THAT(get("/servers?format=json"), HasSubstr("echo.EchoService.Echo"));
  server.reset();
  EXPECT_EQ(kept.use_count(), 1) << "the handler is gone with the server";
  for (size_t i = 0; i < 2; ++i) EXPECT_THAT(test::ask((*group)[i], views[i]), IsEmpty());
  EXPECT_THAT(get("/servers?format=json"), Not(HasSubstr("EchoService")));
}

INSTANTIATE_TEST_SUITE_P(Engines, RpcInspectorTest, testing::Values("epoll"));

}  // namespace
}  // namespace peal
