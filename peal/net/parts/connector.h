// SPDX-License-Identifier: BSD-3-Clause
// Connector: what a Client does on its loop: attempts, their deadline, the waits between them. It belongs to the loop;
// counted, because timers and tasks refer to it.
#pragma once

#include <atomic>
#include <memory>

#include <peal/loop/loop.h>
#include <peal/net/client.h>
#include <peal/net/parts/backoff.h>
#include <peal/net/parts/connection_set.h>

namespace peal::detail {

class Connector : public std::enable_shared_from_this<Connector> {
 public:
  Connector(std::shared_ptr<ConnectionSet> set, const ClientOptions& options, Client::ConnectFailed on_failed);

  // Any thread. A claim is what the one caller gets who may start it next; 0: somebody has it.
  uint64_t claim();
  // Gives up this claim, or whichever there is, unless that has happened already.
  void unclaim(uint64_t claim);
  void unclaim() { unclaim(claims_); }

  // All on the loop's thread.
  void start(const SocketAddress& address, uint64_t claim);
  void stop();
  // As stop(), and nobody is told anything any more.
  void retire();
  ConnectionSet& set() const { return *set_; }

 private:
  void attempt();
  void give_up();
  void connect_done(const ConnectionHandle& which, std::error_code error);
  void connection_gone(const ConnectionHandle& which, bool wanted_here);
  void try_again_after(std::error_code error);
  void set_timer(Duration delay, void (Connector::*then)());
  void time_out();

  const std::shared_ptr<ConnectionSet> set_;
  const ClientOptions options_;
  Client::ConnectFailed on_failed_;
  SocketAddress address_;
  Backoff backoff_;
  TimerId timer_;
  ConnectionHandle current_;
  std::atomic<uint64_t> claims_ = 0;  // odd: claimed
  uint64_t claim_ = 0;                // what it was started with
  unsigned attempts_ = 0;
  bool wanted_ = false;
  bool timed_out_ = false;
};

}  // namespace peal::detail
