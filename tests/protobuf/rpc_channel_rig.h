// SPDX-License-Identifier: BSD-3-Clause
// RpcChannelRig: a fixture for tests of an RpcChannel. The channel calls a ScriptedRpcServer on the same loop.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include <google/protobuf/service.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/coro/task.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/scripted_rpc_server.h>
#include <tests/support/engines/task_rig.h>

namespace peal::test {

using EchoAnswer = Result<echo::EchoResponse>;

inline echo::EchoRequest echo_of(std::string payload) {
  echo::EchoRequest request;
  request.set_payload(std::move(payload));
  return request;
}
inline std::string error_text(std::error_code error) { return "error: " + error.message(); }
inline std::string said_by(const EchoAnswer& answer) { return answer ? answer->payload() : error_text(answer.error()); }

inline RpcChannelOptions reconnecting_soon(RpcChannelOptions options = {}) {
  options.client.retry.first_delay = std::chrono::milliseconds(2);
  options.client.retry.longest_delay = std::chrono::milliseconds(4);
  return options;
}

// Adds 1 to `*count`. Tests pass this function to protobuf's NewCallback().
inline void count_up(int* count) { ++*count; }

class StubController final : public google::protobuf::RpcController {
 public:
  void Reset() override { error.clear(); }
  bool Failed() const override { return !error.empty(); }
  std::string ErrorText() const override { return error; }
  void StartCancel() override {}
  void SetFailed(const std::string& reason) override { error = reason; }
  bool IsCanceled() const override { return false; }
  void NotifyOnCancel(google::protobuf::Closure*) override {}

  std::string error;
};

class RpcChannelRig : public TaskTest {
 protected:
  RpcChannel::Answered<echo::EchoResponse> noting() {
    return [this](const EchoAnswer& answer) { notes.push_back(said_by(answer)); };
  }
  // Makes a call and waits until it ends. Then adds the answer or the error to `notes`.
  Task<> call_and_note(RpcChannel& channel, std::string payload) {
    notes.push_back(said_by(co_await channel.call(&echo::EchoService::Echo, echo_of(std::move(payload)))));
  }
  // Makes a scripted server and a channel that connects to it. Runs `body` with both, then stops the channel.
  void talk(ScriptedRpcServer::OnCall on_call, const std::function<Task<>(ScriptedRpcServer&, RpcChannel&)>& body,
            const RpcChannelOptions& options = reconnecting_soon()) {
    run([&]() -> Task<> {
      ScriptedRpcServer server(loop(), std::move(on_call));
      RpcChannel channel(loop(), options);
      EXPECT_TRUE(channel.connect(server.address()));
      co_await body(server, channel);
      channel.stop();
      co_await until([&] { return server.connections.empty(); });
      co_await settle();
      EXPECT_EQ(channel.stats().under_way, 0u);
    });
  }
};

// A fixture for tests in which peers or callbacks cause log lines. It drops all log lines.
class QuietRpcChannelRig : public RpcChannelRig {
 protected:
  void SetUp() override {
    set_log_sink([](const LogRecord&) {});
    RpcChannelRig::SetUp();
  }
  void TearDown() override {
    RpcChannelRig::TearDown();
    set_log_sink({});
  }
  static std::string text(RpcTrouble trouble) { return error_text(make_error_code(trouble)); }
};

}  // namespace peal::test
