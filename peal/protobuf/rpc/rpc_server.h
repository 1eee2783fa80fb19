// SPDX-License-Identifier: BSD-3-Clause
// RpcServer serves methods of protobuf services. Its clients are peal's RpcChannel and the clients of muduo's RPC.
//
//   peal::RpcServer server(loop);
//   server.handle(&EchoService::Echo, [](peal::RpcCall&, const EchoRequest& request, EchoResponse& response) {
//     response.set_payload(request.payload());
//   });
//   server.handle(&EchoService::Reverse,
//                 [&](peal::RpcCall&, const EchoRequest& request, EchoResponse& response) -> peal::Task<> {
//                   response.set_payload(co_await reverse_elsewhere(request.payload()));
//                 });
//   server.add(an_old_service);   // an object of a class that derives from google::protobuf::Service
//   auto listening = server.listen("127.0.0.1:9981");
//
// The calls of a connection run concurrently. Each is answered when its handler has ended, so the answers may come in
// any order. Answers that are made in one turn of the loop are sent together. If a handler throws, the exception is
// logged and the call is answered with RpcTrouble::kBadResponse.
//
// While a connection has RpcServerOptions::most_calls_per_connection calls in progress, it is not read from. If a
// client sends a frame that cannot be read, its connection ends with CloseReason::kBadMessage. When a client
// disconnects or sends a FIN, its calls are cancelled.
//
// The rules of Server for threads and lifetime hold here too.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <google/protobuf/service.h>

#include <peal/base/callback.h>
#include <peal/coro/task.h>
#include <peal/loop/loop_group.h>
#include <peal/net/server.h>
#include <peal/observe/method_stats.h>
#include <peal/protobuf/codec/message_codec.h>
#include <peal/protobuf/rpc/rpc_call.h>
#include <peal/protobuf/rpc/rpc_method.h>

namespace peal {

namespace detail {
class RpcCore;
}  // namespace detail

struct RpcServerOptions {
  // The options of the listener and of its connections.
  ServerOptions server = {};
  // The longest frame that is sent or received, without its length field; at most 64 MiB. A longer request ends the
  // connection. A call with a longer response is answered with RpcTrouble::kBadResponse. The length of a request is
  // also limited by ConnectionOptions::input_limit_bytes.
  size_t limit_bytes = kMostMessageBytes;
  // The most calls in progress on all loops together. Each loop may have an equal share of them. A call that exceeds
  // the share of its loop is answered with kOverloaded. Must be above 0.
  size_t most_calls = 100'000;
  // The most calls in progress on one connection, and the most bytes of the requests of these calls. If either limit is
  // reached, the connection is not read until calls have ended. Meanwhile the server sees neither cancellations by the
  // client nor its FIN. Keep most_calls_per_connection small: cancelling a call searches all calls of the connection,
  // the oldest first. Both options must be above 0.
  size_t most_calls_per_connection = 1'000;
  size_t most_request_bytes_per_connection = 64 * 1024 * 1024;
  // The longest time that a call may take. When it has passed, or the client's deadline if that is earlier, the call is
  // cancelled and answered with kTimeout. If 0, only the client's deadline counts.
  Duration longest_call = std::chrono::seconds(30);
};

// Counters since the server was created.
struct RpcServerStats {
  std::vector<MethodStats> methods;
  uint64_t unknown = 0;     // calls of services and methods that this server does not have
  uint64_t overloaded = 0;  // calls that were answered with kOverloaded
  uint64_t unexpected = 0;  // messages that are no calls, and cancellations of calls that are not in progress

  // Adds the counters of `other` to the counters of this object.
  void add(const RpcServerStats& other);
};

class RpcServer {
 public:
  // Creates a server on one loop, or on all loops of a group. Throws std::invalid_argument if an option is 0 that must
  // be above 0.
  explicit RpcServer(Loop& loop, const RpcServerOptions& options = {});
  explicit RpcServer(LoopGroup& group, const RpcServerOptions& options = {});
  // Stops listening and ends all connections at once, as ~Server does. Coroutines that still run are cancelled. They
  // end before the destructor returns, except those that cannot be cancelled (see ~HttpServer). A service that has not
  // called its `done` yet may call it after the destructor has returned.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // Adds the handler of a method. Must be called before listen() and method_views() (asserted). Throws
  // std::invalid_argument if the method has a handler already.
  //
  // `handler` takes (RpcCall&, const Request&, Response&) and returns void, or Task<> if it is a coroutine. The
  // messages live as long as the call. If the server has several loops, the handler is called on several threads at
  // once. A `mutable` lambda therefore does not compile. The handler is destroyed after the server and all its calls.
  template <RpcMethodPointer Method, class Handler>
  void handle(Method method, Handler handler);

  // Adds all methods of a service, which must outlive the server and its calls. Must be called before listen() and
  // method_views() (asserted). Throws std::invalid_argument if a method has a handler already; no method is added then.
  //
  // To answer, the service calls `done` exactly once, on any thread. The messages live until that call. If the service
  // throws, it must not call `done` any more. The controller that the service gets has these functions:
  //   IsCanceled()      returns true if the answer is not wanted any more; any thread
  //   NotifyOnCancel()  may be called once, on the loop. Its callback is called when the call is cancelled, at once if
  //                     it was cancelled before; or, if the call is never cancelled, when the call ends. An exception
  //                     of the callback is logged
  //   SetFailed()       called before `done`, makes the call fail with kBadResponse; its text is logged
  void add(google::protobuf::Service& service);

  // Adds the service muduo.net.RpcService (rpcservice.proto). Any client can ask it for the names of this server's
  // services and methods, and for their definitions as text. `peal-rpc` and muduo's clients use it. Must be called
  // before listen() (asserted). Throws std::invalid_argument if that service was added before.
  void add_reflection();

  // Each listen() starts listening, as the function of Server with the same parameters does. No method can be added
  // after that.
  Result<SocketAddress> listen(std::string_view address);
  Result<SocketAddress> listen(const SocketAddress& address);
  Result<SocketAddress> listen(Fd listening, bool shared = false);
  // Stops listening. Open connections and their calls are not affected.
  void stop_listening() { server_->stop_listening(); }

  // Stops the server gracefully, see Server::drain(). Each connection is closed as soon as none of its calls is in
  // progress. Calls that a client sends after that are not answered; the client's channel fails them with
  // kConnectionLost.
  void drain(Duration deadline, Callback<void(const DrainReport&)> on_done) {
    server_->drain(deadline, std::move(on_done));
  }
  DrainReport drain_and_wait(Duration deadline) { return server_->drain_and_wait(deadline); }

  // Returns the number of open connections.
  size_t connections() const { return server_->connections(); }
  // Returns the sum of the counters of all loops. Waits until each loop has copied its counters, as Server::stats()
  // does.
  RpcServerStats stats() const;
  // Returns one function for each loop, in the order of Server::views(). Each function returns the counters of its
  // loop's calls, and must be called on the thread of that loop. The functions may outlive the server; after the server
  // was destroyed, they return an empty vector. No method can be added after this call. The inspector uses the
  // functions: inspector.add(rpc.server(), "rpc", rpc.method_views()).
  std::vector<std::function<std::vector<MethodStats>()>> method_views() const;
  // Returns the underlying Server, for example for its counters of connections. If the application calls
  // Server::adopt(), it must have added all methods before.
  Server& server() { return *server_; }

 private:
  using Function = SharedCallback<void(RpcCall&, const google::protobuf::Message&, google::protobuf::Message&)>;
  using Coroutine = SharedCallback<Task<>(RpcCall&, const google::protobuf::Message&, google::protobuf::Message&)>;
  struct Prototypes {
    const google::protobuf::Message& request;
    const google::protobuf::Message& response;
  };
  void add(const google::protobuf::MethodDescriptor& method, const Prototypes& prototypes, Function handler);
  void add(const google::protobuf::MethodDescriptor& method, const Prototypes& prototypes, Coroutine handler);

  std::shared_ptr<detail::RpcCore> core_;
  std::unique_ptr<Server> server_;
};

template <RpcMethodPointer Method, class Handler>
void RpcServer::handle(Method method, Handler handler) {
  using Request = RpcMethodOf<Method>::Request;
  using Response = RpcMethodOf<Method>::Response;
  constexpr bool kTaken = std::invocable<const Handler&, RpcCall&, const Request&, Response&>;
  static_assert(
      kTaken,
      "a handler of this method must take (peal::RpcCall&, const Request&, Response&), with the message types of "
      "this method, and must not be a `mutable` lambda");
  if constexpr (kTaken) {
    using Answer = std::invoke_result_t<const Handler&, RpcCall&, const Request&, Response&>;
    constexpr bool kAnswers = std::is_void_v<Answer> || std::same_as<Answer, Task<>>;
    static_assert(kAnswers, "a handler of a method must return void, or Task<> if it is a coroutine");
    if constexpr (kAnswers) {
      using Kept = std::conditional_t<std::is_void_v<Answer>, Function, Coroutine>;
      add(rpc_method(method), {Request::default_instance(), Response::default_instance()},
          Kept([handler = std::move(handler)](RpcCall& call, const google::protobuf::Message& request,
                                              google::protobuf::Message& response) {
            return handler(call, static_cast<const Request&>(request), static_cast<Response&>(response));
          }));
    }
  }
}

}  // namespace peal
