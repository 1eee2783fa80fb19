// SPDX-License-Identifier: BSD-3-Clause
// Connector: the part of a Client that runs on its loop: attempts, their deadline, and the waits between them. It is
// shared (shared_ptr), because timers and tasks refer to it.
//
//   attempt: look up the name -> race its addresses -> the first to connect is the current connection
//      ^                                    |                              |
//      +------- wait (Backoff) -------------+ failed, or no time left -----+ lost
//
// The race begins with the addresses of the family whose answer comes first. The other family's addresses join the race
// when they come (RFC 8305 3); until then the attempt does not fail.
#pragma once

#include <memory>
#include <vector>

#include <peal/base/thread/run_claim.h>
#include <peal/loop/loop.h>
#include <peal/net/backoff.h>
#include <peal/net/client.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/happy_eyeballs.h>
#include <peal/net/resolver.h>

namespace peal::detail {

class Connector : public std::enable_shared_from_this<Connector> {
 public:
  Connector(std::shared_ptr<ConnectionSet> set, const ClientOptions& options, Client::ConnectFailed on_failed);

  // Returns the claim that tells whether the client is started. The claim may be used on any thread. A run of the claim
  // lasts from start() until stop() is called or no further attempt will be made.
  RunClaim& claim() { return claim_; }

  // start(), stop() and retire() must be called on the loop's thread. start() connects to `address`, or looks up `name`
  // if `address` is unset.
  void start(const SocketAddress& address, const HostPort& name, uint64_t run);
  void stop();
  // Stops as stop() does, and ensures that no callback of the user is called any more.
  void retire();
  ConnectionSet& set() const { return *set_; }

 private:
  void attempt();
  void look_up();
  void looked_up(Result<Resolver::Addresses> addresses, bool more);
  void race(const std::vector<SocketAddress>& more_addresses);
  void try_next();
  void time_out();
  void connect_done(const ConnectionHandle& which, std::error_code error);
  void connection_gone(const ConnectionHandle& which, bool wanted_here);
  void drop_attempt();
  void fail_attempt(std::error_code error);
  void give_up();
  void set_timer(TimerId Connector::* timer, Duration delay, void (Connector::*then)());
  void cancel_timer(TimerId& timer);
  Resolver& resolver();

  const std::shared_ptr<ConnectionSet> set_;
  ClientOptions options_;
  const std::string host_;  // ClientOptions::connect.host, as the user has set it
  Client::ConnectFailed on_failed_;
  SocketAddress address_;
  HostPort name_;
  Backoff backoff_;
  TimerId timer_;  // ends the attempt at its deadline, or starts the next attempt
  TimerId race_timer_;
  // The resolver that the loop's clients share. The pointer is null until the resolver is first used, and always null
  // if ClientOptions::resolver is set.
  std::shared_ptr<Resolver> shared_resolver_;
  ResolveId lookup_ = ResolveId::kNone;
  HappyEyeballs eyeballs_;
  // The earliest time at which the race may begin one more connection while other connections are in progress.
  TimePoint next_try_;
  std::error_code last_error_;  // of the last connection of this attempt that failed
  std::vector<ConnectionHandle> racing_;
  ConnectionHandle current_;  // the connection that is open
  TimePoint opened_at_;
  RunClaim claim_;
  uint64_t run_ = 0;       // the run that start() was given
  unsigned attempts_ = 0;  // attempts since the last connection opened
  bool wanted_ = false;
};

}  // namespace peal::detail
