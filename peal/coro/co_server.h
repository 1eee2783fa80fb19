// SPDX-License-Identifier: BSD-3-Clause
// CoServer: a Server whose connections each run a task, on one loop or on every loop of a group.
//
//   peal::Task<> echo(peal::Stream stream) {
//     for (;;) {
//       auto input = co_await stream.read();
//       if (!input || input->empty()) co_return;
//       co_await stream.write(std::move(*input));
//     }
//   }
//   peal::CoServer server(loop, echo);
//
// The task's end closes its connection gracefully; an exception that leaves it closes the connection, is logged and
// counted in stats(). Used as Server is. Destroying it ends the connections and cancels the tasks, which end on their
// loops, soon after; `serve` and its captures live until the last has.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <peal/coro/scope.h>
#include <peal/coro/stream.h>
#include <peal/net/server.h>

namespace peal {

class CoServer {
 public:
  using Serve = std::move_only_function<Task<>(Stream)>;
  // Of several loops, which call it on several threads at once: no `mutable` lambda.
  using SharedServe = std::move_only_function<Task<>(Stream) const>;

  CoServer(Loop& loop, Serve serve, const ServerOptions& options = {});
  CoServer(LoopGroup& group, SharedServe serve, const ServerOptions& options = {});
  ~CoServer();
  CoServer(const CoServer&) = delete;
  CoServer& operator=(const CoServer&) = delete;

  // As Server's; to be called from where that may be.
  Result<SocketAddress> listen(std::string_view address) { return server_->listen(address); }
  Server& server() { return *server_; }
  // The server's; tasks' exceptions count as a callback's.
  NetStats stats() const;

 private:
  class Crew;
  static SharedConnectionCallbacks callbacks(const std::shared_ptr<Crew>& crew);

  std::shared_ptr<Crew> crew_;
  std::optional<Server> server_;
};

}  // namespace peal
