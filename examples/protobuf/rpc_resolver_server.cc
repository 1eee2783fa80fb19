// SPDX-License-Identifier: BSD-3-Clause
// Looks up names as a remote procedure: `rpc_resolver_server [ADDRESS [NAME_SERVERS]]`. If NAME_SERVERS is given, for
// example "10.0.0.1:53", the program asks these servers instead of the machine's own name servers. If a name has no
// IPv4 address, the answer is `resolved: false`.
#include <examples/protobuf/rpc_resolver.pb.h>
#include <examples/shared/service.h>

#include <peal/coro/resolve.h>
#include <peal/protobuf/rpc/rpc_server.h>

namespace {

using namespace peal;
using resolver::ResolveRequest;
using resolver::ResolveResponse;

void fill(ResolveResponse& response, const Resolver::Addresses& addresses) {
  for (const SocketAddress& address : addresses) {
    if (address.family() != AF_INET) continue;
    response.add_ip(reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr);
    response.add_port(address.port());
  }
  response.set_resolved(response.ip_size() > 0);
}

}  // namespace

int main(int argc, char** argv) {
  Loop loop;
  Resolver names(loop, {.servers = examples::argument(argc, argv, 2, "")});
  RpcServer server(loop, {.limit_bytes = 4096});
  // Quoted in docs: [handler]
  // The lookup is cancelled if the deadline of the call passes, or if the client disconnects.
  server.handle(&resolver::ResolverService::Resolve,
                [&](RpcCall&, const ResolveRequest& request, ResolveResponse& response) -> Task<> {
                  const ResolveOptions both_families{.other_family_wait = Duration::max()};
                  const auto addresses = co_await resolve(names, request.address(), 0, both_families);
                  fill(response, addresses.value_or(Resolver::Addresses()));
                });
  // End of quote: [handler]
  return examples::listen(server, examples::argument(argc, argv, 1, "127.0.0.1:2053")) ? examples::run(loop) : 1;
}
