// SPDX-License-Identifier: BSD-3-Clause
// PolledEcho: the echo service over a PollerReactor: accepts if it is given a listener, serves what it is given, and
// closes those that are too slow. Its connections are new each time, or of a pool: the objects of those that have
// ended. One thread, the one that runs it.
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
  // `options`, `statistics` and `reactor` outlive it.
  PolledEcho(const ModelOptions& options, Statistics& statistics, PollerReactor& reactor,
             Connections connections = Connections::kNew);
  // Closes every connection, and counts them as ended.
  ~PolledEcho();
  PolledEcho(const PolledEcho&) = delete;
  PolledEcho& operator=(const PolledEcho&) = delete;

  // Accepts from it, which does not block and outlives this.
  Result<void> listen(int listener);
  // Ends run() when the signal has come.
  Result<void> stop_with(const Stop& stop);
  // Serves it, which does not block; a socket the poller cannot hold is closed, and counted as refused.
  void serve(Fd socket, OnHandOver on_hand_over = OnHandOver::kRegister);
  Result<void> run() { return reactor_.run(*this); }
  // Objects of connections that have ended, for the next ones.
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
  TimePoint accept_again_ = kNever;  // while there is no room for another connection
  Tally tally_;
  SlowList slow_;
  std::list<Client> clients_;
  std::list<Client> pool_;
};

}  // namespace peal::models
