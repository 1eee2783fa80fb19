// SPDX-License-Identifier: BSD-3-Clause
// Service: the store over TCP. A client sends one command a line, and gets one line back for each:
//   get KEY          "= VALUE", or "none"
//   put KEY VALUE    "ok", or "! " and the reason
//   del KEY          "ok", or "none"
//   ping             "pong", for health checks
//   quit             ends the connection
// Any other line is answered "? " and the list of commands. A client may send many lines at once.
//
// The class knows nothing of main(), signals or threads, so that a test can run it in the simulator.
#pragma once

#include <string>
#include <string_view>

#include <peal/inspect/inspector.h>
#include <peal/loop/loop_group.h>
#include <peal/net/server.h>

#include "store.h"

namespace app {

// Returns the answer to one line, without its line end. `quit` is no command here, because only the connection can end.
std::string answer(Store& store, std::string_view line);

class Service {
 public:
  // Serves on all loops of the group, which must outlive the service. Counts all loops' connections together.
  Service(peal::LoopGroup& loops, size_t max_connections);

  // Fails if the address is taken, is no address of this machine, or no fd is left: see Server::listen().
  peal::Result<peal::SocketAddress> listen(std::string_view address) { return server_.listen(address); }
  // Accepts nobody new, and ends each connection as soon as its last line is answered. Resets those that are left at
  // `deadline`. Then calls `on_done` on the thread of one of the loops.
  void drain(peal::Duration deadline, peal::Callback<void(const peal::DrainReport&)> on_done) {
    server_.drain(deadline, std::move(on_done));
  }
  size_t connections() const { return server_.connections(); }
  void show_in(peal::Inspector& inspector) { inspector.add(server_, "my_service"); }

 private:
  Store store_;
  peal::Server server_;  // declared last, because its callbacks use the store
};

}  // namespace app
