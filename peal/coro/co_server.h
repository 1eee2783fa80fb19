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
// counted in stats(). Used as Server is.
//
// Destroying it ends the connections and cancels the tasks, on their loops, and has them end before it returns, so what
// they use must live until then, and no longer: as a member, declare the server last. Four cannot end so soon: a task
// in a shield(), one that waits for run_on(), one whose question (OnLoop) or job (AsyncPool) has begun, and the one
// that destroys the server. They end when they can, at the latest when their loop ends; `serve` and its captures live
// until then. Who has such tasks calls stop() first, and destroys what they use when it says so.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <peal/base/callback.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/coro/stream.h>
#include <peal/net/server.h>

namespace peal {

class CoServer {
 public:
  using Serve = Callback<Task<>(Stream)>;
  // Of several loops, which call it on several threads at once: no `mutable` lambda.
  using SharedServe = SharedCallback<Task<>(Stream)>;

  CoServer(Loop& loop, Serve serve, const ServerOptions& options = {});
  CoServer(LoopGroup& group, SharedServe serve, const ServerOptions& options = {});
  ~CoServer();
  // Once, instead of ending by the destructor alone: ends the connections and cancels the tasks, and calls `on_done`
  // when the last has ended, on its loop's thread or inside this call. From then on the server, if it is still there,
  // is only to be destroyed. Where the destructor may be called.
  void stop(Callback<void()> on_done);
  // The same, waiting for it. Not on a thread of one of the loops (asserts), nor of one that run_on() takes a task to.
  void stop_and_wait();
  CoServer(const CoServer&) = delete;
  CoServer& operator=(const CoServer&) = delete;

  // As Server's; to be called from where that may be.
  Result<SocketAddress> listen(std::string_view address) { return server_->listen(address); }
  Server& server() { return *server_; }
  // The server's; tasks' exceptions count as a callback's.
  NetStats stats() const;
  // Tasks that have not ended, those of connections that are gone included. Any thread, until stop().
  size_t tasks() const;

 private:
  class ServerTasks;
  static SharedConnectionCallbacks callbacks(const std::shared_ptr<ServerTasks>& server_tasks);

  std::shared_ptr<ServerTasks> server_tasks_;
  std::optional<Server> server_;
};

}  // namespace peal
