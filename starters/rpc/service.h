// SPDX-License-Identifier: BSD-3-Clause
// Service: the store as remote procedures, the methods of my_service.proto. Clients call them by a peal::RpcChannel.
// `peal-rpc list ADDRESS` shows them, because the service answers questions about itself.
//
// The class knows nothing of main(), signals or threads, so that a test can run it in the simulator.
#pragma once

#include <string_view>
#include <utility>

#include <peal/inspect/inspector.h>
#include <peal/loop/loop_group.h>
#include <peal/protobuf/rpc/rpc_server.h>

#include "store.h"

namespace app {

class Service {
 public:
  // Serves on all loops of the group, which must outlive the service. Counts all loops' connections together.
  Service(peal::LoopGroup& loops, size_t max_connections);

  // Fails if the address is taken, is no address of this machine, or no fd is left: see Server::listen().
  peal::Result<peal::SocketAddress> listen(std::string_view address) { return server_.listen(address); }
  // Accepts nobody new, and ends each connection when none of its calls is in progress. Resets those that are left at
  // `deadline`. Then calls `on_done` on the thread of one of the loops.
  void drain(peal::Duration deadline, peal::Callback<void(const peal::DrainReport&)> on_done) {
    server_.drain(deadline, std::move(on_done));
  }
  size_t connections() const { return server_.connections(); }
  void show_in(peal::Inspector& inspector) { inspector.add(server_.server(), "my_service", server_.method_views()); }

 private:
  Store store_;
  peal::RpcServer server_;  // declared last, because its handlers use the store
};

}  // namespace app
