// SPDX-License-Identifier: BSD-3-Clause
// RpcServerRig: a fixture for tests of RpcServer. It has a server on a loop in another thread, raw peers that send
// frames, and a service that does not answer calls until the test wants it to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/coro/sleep.h>
#include <peal/protobuf/codec/rpc_envelope.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/support/net_rig.h>

namespace peal::test {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;

// Each function returns the bytes of one RPC frame, as they are sent over the network.
struct RpcFrame {
  static std::string request(uint64_t id, std::string payload, std::optional<uint32_t> deadline_ms = {},
                             std::string_view method = "Echo", std::string_view service = "echo.EchoService") {
    EchoRequest message;
    message.set_payload(std::move(payload));
    Buffer frame;
    append_request(kTagged, frame, {.id = id, .service = service, .method = method, .deadline_ms = deadline_ms},
                   message);
    return frame.to_string();
  }
  static std::string response(uint64_t id, std::string payload) {
    EchoResponse message;
    message.set_payload(std::move(payload));
    Buffer frame;
    append_response(kTagged, frame, id, message);
    return frame.to_string();
  }
  static std::string error(uint64_t id, RpcTrouble why) {
    Buffer frame;
    append_error(frame, id, static_cast<int32_t>(why));
    return frame.to_string();
  }
  static std::string cancel(uint64_t id) {
    Buffer frame;
    append_cancel(frame, id);
    return frame.to_string();
  }
  // Returns a complete frame. `message` is the encoded RpcMessage inside the frame.
  static std::string of(std::string_view message) { return framed_body(summed("RPC0" + std::string(message))); }
};

// A service that stores its calls and does not answer them. Echo() and Reverse() use the members on the loop's thread.
// A test may use the members on another thread only while no call can arrive. Kept::answer() may be called on any
// thread, because RpcServer accepts `done` on any thread.
class KeepingService final : public EchoService {
 public:
  struct Kept {
    google::protobuf::RpcController* controller;
    const EchoRequest* request;
    EchoResponse* response;
    google::protobuf::Closure* done;

    void answer(const std::string& payload) const {
      response->set_payload(payload);
      done->Run();
    }
  };
  void Echo(google::protobuf::RpcController* controller, const EchoRequest* request, EchoResponse* response,
            google::protobuf::Closure* done) override {
    calls.push_back({controller, request, response, done});
    if (on_call) on_call(calls.back());
  }
  void Reverse(google::protobuf::RpcController* controller, const EchoRequest* request, EchoResponse* response,
               google::protobuf::Closure* done) override {
    Echo(controller, request, response, done);
  }

  std::vector<Kept> calls;
  std::function<void(const Kept&)> on_call;
};

class RpcServerRig : public NetTest {
 protected:
  std::unique_ptr<RpcServer> serve_calls(const std::function<void(RpcServer&)>& prepare,
                                         const RpcServerOptions& options = {}) {
    auto server = std::make_unique<RpcServer>(loop(), options);
    prepare(*server);
    const Result<SocketAddress> bound = server->listen("127.0.0.1:0");
    EXPECT_TRUE(bound);
    where = bound.value_or(SocketAddress());
    return server;
  }
  // Makes a server that uses `service`. `service` stores the calls, and the test answers them later. The test must
  // destroy the server before the fixture destroys `service`, because the server calls `service` for each request.
  std::unique_ptr<RpcServer> serve_kept(const RpcServerOptions& options = {}) {
    return serve_calls([this](RpcServer& server) { server.add(service); }, options);
  }
  RawPeer peer(int receive_buffer_bytes = 0) const { return RawPeer::connected(where, receive_buffer_bytes); }
  testing::AssertionResult keeps(size_t count) {
    return wait_until([this, count] { return service.calls.size() == count; });
  }
  // Answers all stored calls except the first `from` calls, which the test has answered already. A test must answer
  // every call, because a call is freed only after its `done` was run. The memory of an unanswered call would be
  // leaked.
  void end_kept(size_t from) {
    ask([this, from] {
      for (size_t i = from; i < service.calls.size(); ++i) service.calls[i].answer("end");
    });
  }
  // Returns a handler that sleeps for an hour instead of answering. The handler adds a line to the journal when it
  // begins, and another when its sleep ends. The second line says why the sleep has ended.
  auto sleeping() {
    return [this](RpcCall& call, const EchoRequest& request, EchoResponse&) -> Task<> {
      const std::string name = request.payload().substr(0, 8);
      journal.add(name + " begins");
      const Result<void> slept = co_await sleep(std::chrono::hours(1));
      journal.add(name + (call.is_cancelled() ? " is cancelled, " : ", ") + told(slept));
    };
  }
  std::string cancelled(const std::string& name) const { return name + " is cancelled, " + told(ECANCELED); }
  RpcServerStats stats(const RpcServer& server) { return server.stats(); }
  // Returns the statistics of the method that was added to the server first. In the tests that call this function, that
  // method is Echo.
  MethodStats echo_stats(const RpcServer& server) { return server.stats().methods.at(0); }

  SocketAddress where;
  KeepingService service;
};

}  // namespace peal::test
