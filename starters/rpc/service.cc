// SPDX-License-Identifier: BSD-3-Clause
#include "service.h"

#include <chrono>
#include <optional>
#include <string>

#include "my_service.pb.h"

namespace app {
namespace {

namespace api = my_service_api;
using peal::RpcCall;
using std::chrono::seconds;

// Every wait has a deadline, and every queue a limit. Options that are not set here keep their defaults.
peal::RpcServerOptions options(size_t max_connections) {
  peal::RpcServerOptions options;
  // A new client replaces the one that has been idle for longest. There is no limit for each address, because behind a
  // proxy all clients have one address. If clients connect directly, set max_connections_per_address too.
  options.server.max_connections = max_connections;
  peal::ConnectionOptions& connection = options.server.connection;
  connection.idle_timeout = seconds(300);  // longer than a client pauses between two calls; its channel reconnects
  // A client that has begun a message must send 64 bytes of it in each 10 s, and read answers within 20 s.
  connection.min_read_bytes = 64;
  connection.read_window = seconds(10);
  connection.write_window = seconds(20);
  connection.output_limit_bytes = 1024 * 1024;  // answers that one client has not read
  options.limit_bytes = 16 * 1024;              // a message has a key and a value of the store at most
  options.most_calls = 10'000;                  // calls in progress on all connections together
  options.most_calls_per_connection = 100;
  options.most_request_bytes_per_connection = 1024 * 1024;
  options.longest_call = seconds(10);  // a client's deadline may be shorter
  return options;
}

}  // namespace

Service::Service(peal::LoopGroup& loops, size_t max_connections) : server_(loops, options(max_connections)) {
  server_.handle(&api::Values::Get, [this](RpcCall&, const api::GetRequest& request, api::GetResponse& response) {
    const std::optional<std::string> value = store_.get(request.key());
    response.set_found(value.has_value());
    if (value) response.set_value(*value);
  });
  server_.handle(&api::Values::Put, [this](RpcCall&, const api::PutRequest& request, api::PutResponse& response) {
    const PutResult result = store_.put(request.key(), request.value());
    if (result != PutResult::kStored) response.set_error(std::string(to_string(result)));
  });
  server_.handle(&api::Values::Remove,
                 [this](RpcCall&, const api::RemoveRequest& request, api::RemoveResponse& response) {
                   response.set_found(store_.remove(request.key()));
                 });
  server_.add_reflection();  // everybody who can connect may ask what the service serves
}

}  // namespace app
