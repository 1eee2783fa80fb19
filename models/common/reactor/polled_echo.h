// SPDX-License-Identifier: BSD-3-Clause
// PolledEcho: the echo service over a PollerReactor. It accepts connections if listen() was called, serves the sockets
// that are passed to serve(), and closes slow connections. The object of a connection is new, or comes from a pool of
// objects whose connections have ended. Use a PolledEcho only on the thread that calls run().
#pragma once

#include <list>
#include <memory>

#include <models/common/coroutine/slow_list.h>
#include <models/common/echo/echo_connection.h>
#include <models/common/reactor/poller_reactor.h>
#include <models/model_table.h>

namespace peal::models {

class PolledEcho final : private PollerReactor::Owner, private PollerReactor::Handler {
 public:
  // `options`, `statistics` and `reactor` must outlive this object.
  PolledEcho(const ModelOptions& options, Statistics& statistics, PollerReactor& reactor,
             Connections connections = Connections::kNew);
  // Closes all connections and counts them as ended.
  ~PolledEcho();
  PolledEcho(const PolledEcho&) = delete;
  PolledEcho& operator=(const PolledEcho&) = delete;

  // Makes run() accept connections from `listener`. The listener must be non-blocking, and must outlive this object.
  Result<void> listen(int listener);
  // Makes run() return when SIGTERM or SIGINT arrives.
  Result<void> stop_with(const Stop& stop);
  // Adds the non-blocking socket `socket`, which run() then serves. `on_hand_over` says how serve() begins:
  // - kRegister: adds the socket to the poller. run() reads when the poller reports that bytes have arrived.
  // - kRead: first reads once and answers the complete frames, then adds the socket to the poller. Bytes may have
  //   arrived while another thread passed the socket to this thread, and the early read then saves a wait. If the
  //   connection has to end after the early read, closes the socket and counts the connection as ended.
  // If the socket cannot be added to the poller, closes the socket and counts the connection as refused.
  void serve(Fd socket, OnHandOver on_hand_over = OnHandOver::kRegister);
  Result<void> run() { return reactor_.run(*this); }
  // Returns the number of Client objects in the pool. Their connections have ended, so these objects are free for new
  // connections. With Connections::kNew, the pool is always empty.
  size_t pooled() const { return pool_.size(); }

 private:
  class Client;

  TimePoint next_deadline() const override;
  void after_batch() override;
  void on_ready(int fd) override;
  void accept_all();
  Client& new_client(Fd socket);
  void release(Client& client);
  void close(Client& client);

  const ModelOptions& options_;
  Statistics& statistics_;
  PollerReactor& reactor_;
  const Connections connections_;
  int listener_ = -1;
  TimePoint accept_again_ = kNever;  // when to accept again; kNever if accepting is not paused
  Tally tally_;
  SlowList slow_;
  std::list<Client> clients_;
  std::list<Client> pool_;
};

}  // namespace peal::models
