// SPDX-License-Identifier: BSD-3-Clause
// Connector: what a Client does on its loop: attempts, their deadline, the waits between them. It belongs to the loop;
// counted, because timers and tasks refer to it.
//
//   attempt: look up the name -> race its addresses -> the first to connect is the current connection
//      ^                                    |                              |
//      +------- wait (Backoff) -------------+ failed, or no time left -----+ lost
//
// The race begins with the addresses of the family that is known first. The other's join it when they come (RFC 8305
// 3), and until then an attempt has not failed.
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

  // Any thread. Its runs go from start() to stop(), or to when nothing is tried any more.
  RunClaim& claim() { return claim_; }

  // All on the loop's thread.
  // `name` counts where `address` is not set.
  void start(const SocketAddress& address, const HostPort& name, uint64_t run);
  void stop();
  // As stop(), and nobody is told anything any more.
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
  const std::string host_;  // that was asked for
  Client::ConnectFailed on_failed_;
  SocketAddress address_;
  HostPort name_;
  Backoff backoff_;
  TimerId timer_;  // the attempt's deadline, or the wait for the next
  TimerId race_timer_;
  std::shared_ptr<Resolver> shared_resolver_;  // the loop's, unless the user has one
  ResolveId lookup_ = ResolveId::kNone;
  HappyEyeballs eyeballs_;
  TimePoint next_try_;          // beside others that are under way
  std::error_code last_error_;  // of the connections of this attempt
  std::vector<ConnectionHandle> racing_;
  ConnectionHandle current_;  // open
  TimePoint opened_at_;
  RunClaim claim_;
  uint64_t run_ = 0;       // what it was started with
  unsigned attempts_ = 0;  // since one connected
  bool wanted_ = false;
};

}  // namespace peal::detail
