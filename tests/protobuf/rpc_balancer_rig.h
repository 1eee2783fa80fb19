// SPDX-License-Identifier: BSD-3-Clause
// RpcBalancerRig: a fixture for tests of an RpcBalancer. Its servers run on the test's loop. A test may destroy them
// and make them again. The outcomes of calls are written into `notes`.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <peal/coro/sleep.h>
#include <peal/protobuf/rpc/rpc_balancer.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/kept_port.h>
#include <tests/support/engines/task_rig.h>

namespace peal::test {

// An RPC server that a test can destroy and make again at the same port. While `holds` is true, calls get no answer.
class BalancedServer {
 public:
  explicit BalancedServer(Loop& loop) : loop_(loop) { come(); }

  // Makes the server. The server always listens at the same port.
  void come() {
    server_ = std::make_unique<RpcServer>(loop_);
    server_->handle(&echo::EchoService::Echo,
                    [this](RpcCall& call, const echo::EchoRequest& request, echo::EchoResponse& response) -> Task<> {
                      ++calls;
                      time_left = call.time_left();
                      response.set_payload(request.payload());
                      while (holds) {
                        if (!co_await sleep(std::chrono::milliseconds(1))) co_return;
                      }
                    });
    const Result<SocketAddress> bound = server_->listen(address);
    ASSERT_TRUE(bound) << address << ": " << bound.error().message();
  }
  void go() { server_.reset(); }
  size_t connections() const { return server_->connections(); }
  size_t under_way() const { return server_->stats().methods.at(0).under_way; }

  const KeptPort port;
  const std::string address = port.address().to_string();
  bool holds = false;
  int calls = 0;
  Duration time_left = {};  // the time left of the last call, when the call arrived

 private:
  Loop& loop_;
  std::unique_ptr<RpcServer> server_;
};

inline echo::EchoRequest balanced_request(int number) {
  echo::EchoRequest request;
  request.set_payload(std::to_string(number));
  return request;
}

inline std::string balanced_text(const Result<echo::EchoResponse>& answer) {
  if (answer) return answer->payload();
  if (answer.error() == make_error_code(RpcTrouble::kConnectionLost)) return "lost";
  if (answer.error() == make_error_code(RpcTrouble::kNotConnected)) return "not connected";
  if (answer.error() == make_error_code(RpcTrouble::kTooManyCalls)) return "too many";
  if (answer.error() == errno_code(ETIMEDOUT)) return "timed out";
  if (answer.error() == make_error_code(Trouble::kLoopStopped)) return "loop stopped";
  return answer.error().message();
}

inline RpcBalancerOptions quick_to_connect() {
  RpcBalancerOptions options;
  options.channel.client.retry.first_delay = std::chrono::milliseconds(1);
  options.channel.client.retry.longest_delay = std::chrono::milliseconds(5);
  options.channel.deadline = std::chrono::hours(1);
  options.seed = 1;
  return options;
}

class RpcBalancerRig : public TaskTest {
 protected:
  using Backends = std::vector<std::unique_ptr<BalancedServer>>;
  using Body = std::function<Task<>(Backends&, std::unique_ptr<RpcBalancer>&)>;

  // Makes `count` servers and a balancer. Runs `body` when the balancer is connected to all servers.
  void balance(int count, const Body& body, const RpcBalancerOptions& options = quick_to_connect()) {
    run([&]() -> Task<> {
      Backends servers;
      auto balancer = std::make_unique<RpcBalancer>(loop(), options);
      for (int i = 0; i < count; ++i) {
        servers.push_back(std::make_unique<BalancedServer>(loop()));
        EXPECT_TRUE(balancer->add(servers.back()->address));
      }
      co_await until([&] { return connected(*balancer) == count; });
      co_await body(servers, balancer);
      balancer.reset();
      co_await settle();
    });
  }
  static int connected(const RpcBalancer& balancer) {
    const std::vector<RpcBalancerServer> servers = balancer.stats().servers;
    return static_cast<int>(std::ranges::count_if(servers, &RpcBalancerServer::connected));
  }
  // Starts a call and does not wait for its answer. When the call ends, the answer or the error is added to `notes`.
  RpcCallId begin_call(RpcBalancer& balancer, int number, Duration deadline = RpcBalancer::kUsualDeadline) {
    return balancer.call(
        &echo::EchoService::Echo, balanced_request(number),
        [this](const Result<echo::EchoResponse>& answer) { notes.push_back(balanced_text(answer)); }, deadline);
  }
  Task<> await_call(RpcBalancer& balancer, int number, Duration deadline = std::chrono::hours(1)) {
    const echo::EchoRequest request = balanced_request(number);
    const Result<echo::EchoResponse> answer =
        co_await balancer.call(&echo::EchoService::Echo, request).within(deadline);
    notes.push_back(balanced_text(answer));
  }
};

}  // namespace peal::test
