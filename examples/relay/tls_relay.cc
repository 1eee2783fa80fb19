// SPDX-License-Identifier: BSD-3-Clause
// Ends TLS for a server that does not speak it: `tls_relay UPSTREAM CERTIFICATE KEY [ADDRESS]`. The two halves of a
// connection end by themselves, as they do without it, and neither side is read faster than the other takes it.
#include <examples/relay/upstream.h>
#include <examples/shared/service.h>

#include <peal/tls/tls_server_context.h>

using namespace peal;

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: tls_relay UPSTREAM CERTIFICATE KEY [ADDRESS]\n");
    return 2;
  }
  Result<SocketAddress> address = SocketAddress::parse(argv[1]);
  if (!address) return examples::failed(argv[1], address.error());
  const auto tls = TlsServerContext::make({.certificates = {{.chain_file = argv[2], .key_file = argv[3]}}});
  if (!tls) {
    fmt::print(stderr, "{}\n", tls.error());
    return 1;
  }
  Loop loop;
  Server server(loop, {.on_open = [address = *address](Connection& client) { examples::relay(client, address); }},
                {.connection = {.layer = tls->get()}});
  return examples::listen(server, examples::argument(argc, argv, 4, "127.0.0.1:2443")) ? examples::run(loop) : 1;
}
