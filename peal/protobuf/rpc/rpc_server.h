// SPDX-License-Identifier: BSD-3-Clause
// RpcServer: serves methods of protobuf's services to peal's RpcChannel and to the clients of muduo's RPC.
//
//   peal::RpcServer server(loop);
//   server.handle(&EchoService::Echo, [](peal::RpcCall&, const EchoRequest& request, EchoResponse& response) {
//     response.set_payload(request.payload());
//   });
//   server.handle(&SudokuService::Solve,
//                 [&](peal::RpcCall& call, const SudokuRequest& request, SudokuResponse& response) -> peal::Task<> {
//                   response.set_solution(co_await solve_elsewhere(request.puzzle()));
//                 });
//   server.add(an_old_service);   // whatever derives from google::protobuf::Service
//   auto listening = server.listen("127.0.0.1:9981");
//
// The calls of a connection run side by side, and each is answered when its handler has ended, in any order. The
// answers of one turn leave together. An exception of a handler is logged and answered with RpcTrouble::kBadResponse.
//
// A connection of which RpcServerOptions::most_calls_per_connection are under way is not read from. A peer whose frames
// cannot be read ends its connection with CloseReason::kBadMessage. When the client goes (its FIN counts), its calls
// are cancelled. Used, and destroyed, as Server is.
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
  ServerOptions server = {};
  // The longest content of a frame, both ways; at most 64 MiB. A longer response is RpcTrouble::kBadResponse.
  // ConnectionOptions::input_limit_bytes limits a request too.
  size_t limit_bytes = kMostMessageBytes;
  // Under way on all loops together; each loop has its even share. A call beyond is answered kOverloaded. > 0.
  size_t most_calls = 100'000;
  // Under way on one connection, and the bytes of their requests. Beyond, the connection is not read from until calls
  // have ended. Meanwhile no call is given up, and a FIN of the client is not noticed. A call that is given up is
  // searched for among them, the oldest first. > 0.
  size_t most_calls_per_connection = 1'000;
  size_t most_request_bytes_per_connection = 64 * 1024 * 1024;
  // Then a call is cancelled and answered with kTimeout, earlier if its client says so. 0: only if its client says so.
  Duration longest_call = std::chrono::seconds(30);
};

// Since the server was made.
struct RpcServerStats {
  std::vector<MethodStats> methods;
  uint64_t unknown = 0;     // calls of services and methods that are not there
  uint64_t overloaded = 0;  // answered kOverloaded
  uint64_t unexpected = 0;  // messages that are no call, and calls given up that are not under way

  void add(const RpcServerStats& other);
};

class RpcServer {
 public:
  // std::invalid_argument: a limit of 0 that may not be.
  explicit RpcServer(Loop& loop, const RpcServerOptions& options = {});
  explicit RpcServer(LoopGroup& group, const RpcServerOptions& options = {});
  // As ~Server. Coroutines that still run are cancelled and end before it returns, but for those that cannot (see
  // ~HttpServer). A service that has not called its `done` yet may still do so.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // Before listen() and method_views(). A method that is served already throws std::invalid_argument.
  //
  // `handler` takes (RpcCall&, const Request&, Response&) and returns nothing or a Task<>. The messages live as long as
  // the call. With several loops it is called on several threads at once, so no `mutable` lambda is taken. It lives
  // until the server and all of its calls have ended.
  template <RpcMethodPointer Method, class Handler>
  void handle(Method method, Handler handler);
  // All methods of a service, which outlives the server and its calls. The controller that it is given answers
  // IsCanceled() on any thread. It takes one NotifyOnCancel(), on the loop; what that throws is logged. SetFailed(),
  // before `done`, answers kBadResponse and logs the text. `done` is called once, on any thread; the messages live
  // until then. A service that has thrown must not call it later.
  void add(google::protobuf::Service& service);
  // Before listen(). Serves muduo.net.RpcService besides (rpcservice.proto), which answers any client with the names of
  // the services, their methods, and their definitions as text: for `peal-rpc`, and for muduo's clients. Called twice,
  // or with that service added, throws std::invalid_argument.
  void add_reflection();

  // As Server's.
  Result<SocketAddress> listen(std::string_view address);
  Result<SocketAddress> listen(const SocketAddress& address);
  Result<SocketAddress> listen(Fd listening, bool shared = false);
  void stop_listening() { server_->stop_listening(); }
  // Ends in order: a connection is closed at the first moment when none of its calls is under way. Calls that
  // its client sends later are lost: its channel reports kConnectionLost. See Server::drain.
  void drain(Duration deadline, Callback<void(const DrainReport&)> on_done) {
    server_->drain(deadline, std::move(on_done));
  }
  DrainReport drain_and_wait(Duration deadline) { return server_->drain_and_wait(deadline); }

  size_t connections() const { return server_->connections(); }
  // The sum over all loops; waits for each, as Server::stats().
  RpcServerStats stats() const;
  // One for each loop, in the order of Server::views(), to be called on its thread. They may outlive the server, and
  // then answer nothing. For the inspector: inspector.add(rpc.server(), "rpc", rpc.method_views()).
  std::vector<std::function<std::vector<MethodStats>()>> method_views() const;
  // For its counters of connections. Methods are added before it adopts a connection.
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
