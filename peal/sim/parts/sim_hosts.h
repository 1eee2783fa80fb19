// SPDX-License-Identifier: BSD-3-Clause
// SimHost: a machine of a SimNetwork from one power-on to the next power-off; engines, ends and listeners share it.
// SimHosts: which there are, and what lies between two of them. An address that is no machine's is always there.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/socket_address.h>
#include <peal/sim/sim_options.h>

namespace peal::detail {

// Of an IP address without a port, as in "10.0.0.1" and "::1"; of any other text std::invalid_argument.
SocketAddress parse_ip(std::string_view text);
// Its address in network byte order; empty for what is no IP address.
std::string_view ip_bytes(const SocketAddress& address);
// What never leaves the machine: loopback and unix addresses.
bool is_local(const SocketAddress& address);

struct SimHost {
  SocketAddress ip;  // port 0
  bool on = true;    // off for good: power comes back to a new one

  // Its clock at that time of the world; it never goes back.
  TimePoint local(TimePoint world) const;
  // When it shows `local_time`: never earlier.
  TimePoint world(TimePoint local_time) const;
  void set_clock(TimePoint world, Duration ahead, double its_rate);

 private:
  TimePoint at(TimePoint world) const;

  TimePoint since_{};  // of the world's time; at it, the clock showed base_
  TimePoint base_{};
  double rate_ = 1;
  mutable TimePoint last_ = TimePoint::min();
};

class SimHosts {
 public:
  // Instead of the one with the same address, if there is one.
  void add(std::shared_ptr<SimHost> host);
  void remove(const SimHost& host);
  // Null: the address is no machine's.
  SimHost* at(const SocketAddress& address) const;

  // What is sent so; stays where it is.
  struct Path {
    std::unique_ptr<SimOptions> options;  // null: the world's
    bool cut = false;
  };
  Path& path(const SocketAddress& from, const SocketAddress& to);
  const SimOptions& options(const SocketAddress& from, const SocketAddress& to, const SimOptions& otherwise) const;
  void heal();
  // What is sent so gets lost.
  bool is_cut(const SocketAddress& from, const SocketAddress& to) const;

 private:
  const Path* find(const SocketAddress& from, const SocketAddress& to) const;

  std::vector<std::shared_ptr<SimHost>> hosts_;
  std::map<std::pair<std::string, std::string>, Path> paths_;
};

}  // namespace peal::detail
