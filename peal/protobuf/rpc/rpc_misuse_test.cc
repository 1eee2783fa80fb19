// SPDX-License-Identifier: BSD-3-Clause
// Mistakes of the program that uses remote calls: each ends the process at the place of the mistake, with a message
// that names it.
#include <google/protobuf/stubs/callback.h>
#include <gtest/gtest.h>

#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <tests/protobuf/rpc_channel_rig.h>

namespace peal {
namespace {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;

class ServiceThatIsDoneTwice final : public EchoService {
 public:
  void Echo(google::protobuf::RpcController*, const EchoRequest* request, EchoResponse* response,
            google::protobuf::Closure* done) override {
    response->set_payload(request->payload());
    done->Run();
    done->Run();
  }
};

void call_service_that_is_done_twice() {
  Loop loop;
  ServiceThatIsDoneTwice service;
  RpcServer server(loop);
  server.add(service);
  RpcChannel channel(loop);
  const auto connecting = channel.connect(server.listen("127.0.0.1:0").value());
  channel.call(&EchoService::Echo, test::echo_of("once"), [&](const test::EchoAnswer&) { loop.stop(); });
  if (connecting) static_cast<void>(loop.run());
}

TEST(RpcMisuseDeathTest, call_without_a_callback) {
  Loop loop;
  RpcChannel channel(loop);
  EXPECT_DEATH(channel.call(&EchoService::Echo, test::echo_of("x"), nullptr), "Echo is called without on_answer");
}

TEST(RpcMisuseDeathTest, stub_without_done) {
  Loop loop;
  RpcChannel channel(loop);
  const EchoRequest request = test::echo_of("x");
  EchoResponse response;
  EXPECT_DEATH(EchoService::Stub(&channel).Echo(nullptr, &request, &response, nullptr), "a response or done");
}

TEST(RpcMisuseDeathTest, service_calls_done_twice) {
  EXPECT_DEATH(call_service_that_is_done_twice(), "done of echo.EchoService.Echo is called after its call has ended");
}

}  // namespace
}  // namespace peal
