// SPDX-License-Identifier: BSD-3-Clause
// CoServer: a Server that runs a task for each connection, on one loop or on every loop of a group.
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
// When the task ends, its connection is closed gracefully. An exception that leaves the task closes the connection, is
// logged, and counts in stats(). The rules for threads are those of Server.
//
// The destructor closes the connections, cancels the tasks on their loops, and returns after the tasks have ended. So
// the objects that tasks use must live until the destructor returns: a class that has the server as a member declares
// it last. Four kinds of tasks may end later:
// - a task inside a shield();
// - a task that waits for run_on();
// - a task that waits for OnLoop::ask() or AsyncPool::run() whose function has begun;
// - the task that destroys the server.
//
// These tasks end as soon as they can, at the latest when their loop ends. `serve` and its captures live until the last
// of them has ended. An application that has such tasks calls stop() first, and destroys the objects that they use when
// stop() calls back.
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
  // The application's function that returns the task of a new connection. Called on the connection's loop.
  using Serve = Callback<Task<>(Stream)>;
  // The application's function that returns the task of a new connection, for a server on a group of loops. Several
  // threads call the function at the same time, so a `mutable` lambda is not accepted.
  using SharedServe = SharedCallback<Task<>(Stream)>;

  CoServer(Loop& loop, Serve serve, const ServerOptions& options = {});
  CoServer(LoopGroup& group, SharedServe serve, const ServerOptions& options = {});
  ~CoServer();
  // Closes the connections and cancels the tasks as the destructor does. When the last task has ended, calls `on_done`
  // on that task's loop. If no task is left, calls `on_done` before stop() returns. May be called once, on any thread
  // that may call the destructor. Afterwards the server may only be destroyed.
  void stop(Callback<void()> on_done);
  // Calls stop() and waits until the last task has ended. Asserts that the calling thread runs none of the server's
  // loops. A task of the server may use run_on() to wait for work on another loop. stop_and_wait() must not be called
  // on the thread of that other loop, because the work and the caller would wait for each other.
  void stop_and_wait();
  CoServer(const CoServer&) = delete;
  CoServer& operator=(const CoServer&) = delete;

  // Makes the server listen on `address`, as Server::listen() does. May be called on the same threads as
  // Server::listen().
  Result<SocketAddress> listen(std::string_view address) { return server_->listen(address); }
  // Returns the Server that accepts the connections. May be called only before stop().
  Server& server() { return *server_; }
  // Returns Server::stats(). The exceptions that tasks have thrown are included in NetStats::exceptions.
  NetStats stats() const;
  // Returns the number of tasks that have not ended, including tasks whose connection has ended. May be called on any
  // thread, but only before stop().
  size_t tasks() const;

 private:
  class ServerTasks;
  static SharedConnectionCallbacks callbacks(const std::shared_ptr<ServerTasks>& server_tasks);

  std::shared_ptr<ServerTasks> server_tasks_;
  std::optional<Server> server_;
};

}  // namespace peal
