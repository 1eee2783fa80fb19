// SPDX-License-Identifier: BSD-3-Clause
// Service: the store as a JSON API.
//   GET /values/KEY      200 {"key": KEY, "value": VALUE}, or 404
//   PUT /values/KEY      takes {"value": VALUE}: 204; 400 if that is malformed, 413 if it is too long, 507 if the store
//                        is full
//   DELETE /values/KEY   204, or 404
//   GET /healthz         200 "ok", for load balancers
// The body of an error is {"error": REASON}.
//
// The class knows nothing of main(), signals or threads, so that a test can run it in the simulator.
#pragma once

#include <string_view>
#include <utility>

#include <peal/http/server/http_server.h>
#include <peal/inspect/inspector.h>
#include <peal/loop/loop_group.h>

#include "store.h"

namespace app {

class Service {
 public:
  // Serves on all loops of the group, which must outlive the service. Counts all loops' connections together.
  Service(peal::LoopGroup& loops, size_t max_connections);

  // Fails if the address is taken, is no address of this machine, or no fd is left: see Server::listen().
  peal::Result<peal::SocketAddress> listen(std::string_view address) { return server_.listen(address); }
  // Accepts nobody new, and completes the answers in progress. Resets the connections that are left at `deadline`. Then
  // calls `on_done` on the thread of one of the loops.
  void drain(peal::Duration deadline, peal::Callback<void(const peal::DrainReport&)> on_done) {
    server_.drain(deadline, std::move(on_done));
  }
  size_t connections() const { return server_.connections(); }
  void show_in(peal::Inspector& inspector) { inspector.add(server_, "my_service"); }

 private:
  Store store_;
  peal::HttpServer server_;  // declared last, because its handlers use the store
};

}  // namespace app
