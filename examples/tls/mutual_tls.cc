// SPDX-License-Identifier: BSD-3-Clause
// Two services that prove to each other who they are. Each has a certificate from one authority that both trust:
//   mutual_tls serve AUTHORITY CERTIFICATE KEY [ADDRESS]
//   mutual_tls ask   AUTHORITY CERTIFICATE KEY ADDRESS
// The server answers with the name in the client's certificate. A real service would decide by that name what the
// client may do.
#include <examples/shared/service.h>

#include <peal/net/client.h>
#include <peal/tls/tls_client_context.h>
#include <peal/tls/tls_server_context.h>

using namespace peal;

namespace {

int complain(const std::string& sentence) {
  fmt::print(stderr, "{}\n", sentence);
  return 1;
}

int serve(const std::string& authority, const TlsCertificate& own, const std::string& address) {
  const auto tls = TlsServerContext::make(
      {.certificates = {own}, .client_auth = TlsClientAuth::kRequired, .client_roots = {.file = authority}});
  if (!tls) return complain(tls.error());
  Loop loop;
  Server server(loop,
                {.on_message =
                     [](Connection& connection, Buffer& question) {
                       question.clear();
                       connection.send("hello, " + connection.layer_facts()->peer + "\n");
                     }},
                {.connection = {.layer = tls->get()}});
  return examples::listen(server, address) ? examples::run(loop) : 1;
}

int ask(const std::string& authority, const TlsCertificate& own, const std::string& address) {
  const auto tls = TlsClientContext::make({.roots = {.file = authority}, .certificate = own});
  if (!tls) return complain(tls.error());
  Loop loop;
  std::string why = "the service ended before it answered";
  Client client(loop,
                {.on_open = [](Connection& connection) { connection.send("who am I?"); },
                 .on_message =
                     [&](Connection& connection, Buffer& answer) {
                       fmt::print("{}", answer.to_string());
                       answer.clear();
                       why.clear();
                       connection.close();
                     },
                 .on_close =
                     [&](Connection& connection, CloseReason) {
                       if (connection.error() && !why.empty()) why = connection.error().message();
                       loop.stop();
                     }},
                {.connection = {.layer = tls->get()}}, [&](std::error_code error, Duration) {
                  why = error.message();
                  loop.stop();
                });
  if (Result<void> begun = client.connect(address); !begun) return examples::failed(address, begun.error());
  if (Result<void> ran = loop.run(); !ran) return examples::failed("cannot run the loop", ran.error());
  return why.empty() ? 0 : complain(why);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = examples::argument(argc, argv, 1, "");
  if (argc < 5 || (what != "serve" && what != "ask") || (what == "ask" && argc < 6)) {
    fmt::print(stderr, "usage: mutual_tls serve|ask AUTHORITY CERTIFICATE KEY [ADDRESS]\n");
    return 2;
  }
  const TlsCertificate own{.chain_file = argv[3], .key_file = argv[4]};
  const std::string address = examples::argument(argc, argv, 5, "127.0.0.1:2444");
  return what == "serve" ? serve(argv[2], own, address) : ask(argv[2], own, address);
}
