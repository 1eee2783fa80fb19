// SPDX-License-Identifier: BSD-3-Clause
// Adds TLS to a server that has none: `tls_relay UPSTREAM CERTIFICATE KEY [ADDRESS]`. The relay decrypts what a client
// sends, and encrypts what UPSTREAM sends. If one side ends its direction (half-close), the other direction stays open.
// If one side reads slowly, the relay reads no faster from the other side.
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
