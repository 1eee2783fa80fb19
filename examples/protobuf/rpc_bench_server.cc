// SPDX-License-Identifier: BSD-3-Clause
// A service of remote procedures that sends each payload back: `rpc_bench_server [ADDRESS [THREADS]]`. It is called by
// rpc_bench_client, and by muduo's rpcbench.
#include <cstdlib>

#include <examples/protobuf/rpc_echo.pb.h>
#include <examples/shared/service.h>

#include <peal/protobuf/rpc/rpc_server.h>

int main(int argc, char** argv) {
  using namespace peal;
  using namespace peal::examples;
  const int threads = std::atoi(argument(argc, argv, 2, "1").c_str());
  if (threads < 1) {
    fmt::print(stderr, "usage: rpc_bench_server [ADDRESS [THREADS]]\n");
    return 2;
  }
  return run_on_threads(static_cast<size_t>(threads), [&](LoopGroup& group) {
    auto server = std::make_unique<RpcServer>(group);
    server->handle(&echo::EchoService::Echo,
                   [](RpcCall&, const echo::EchoRequest& request, echo::EchoResponse& response) {
                     response.set_payload(request.payload());
                   });
    return listen(*server, argument(argc, argv, 1, "127.0.0.1:8888")) ? std::move(server) : nullptr;
  });
}
