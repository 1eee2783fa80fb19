// SPDX-License-Identifier: BSD-3-Clause
// SimHost: a machine of a SimNetwork, from one power-on to the next power-off. The engines, stream ends and listeners
// of the machine share it. SimHosts: all machines with power or without, and the options and cuts between two hosts. An
// address that belongs to no machine is always reachable.
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

// Parses an IP address without a port, such as "10.0.0.1" or "::1"; the result has port 0. Throws std::invalid_argument
// for any other text.
SocketAddress parse_ip(std::string_view text);
// Returns the bytes of an IP address in network byte order, as a view into `address`. Empty if it is not an IP address.
std::string_view ip_bytes(const SocketAddress& address);
// True for addresses whose traffic never leaves the machine: loopback and unix addresses.
bool is_local(const SocketAddress& address);

struct SimHost {
  SocketAddress ip;  // with port 0
  bool on = true;    // false after a power-off, for ever: the next power-on makes a new SimHost

  // Converts a time of the world to the time that the machine's clock shows then. The result never goes back from call
  // to call.
  TimePoint local(TimePoint world) const;
  // Converts a time of the machine's clock to the first time of the world at which the clock shows it or more. Returns
  // kNever for kNever.
  TimePoint world(TimePoint local_time) const;
  // Sets the clock when the world's time is `world`. The clock then shows world + ahead and runs at `its_rate`.
  void set_clock(TimePoint world, Duration ahead, double its_rate);

 private:
  TimePoint at(TimePoint world) const;

  TimePoint since_{};  // the world's time at which the clock was set to base_
  TimePoint base_{};
  double rate_ = 1;
  mutable TimePoint last_ = TimePoint::min();
};

class SimHosts {
 public:
  // Adds a machine. If another machine has the same address, it is removed.
  void add(std::shared_ptr<SimHost> host);
  void remove(const SimHost& host);
  // Returns the machine with this IP address, whether it has power or not. Returns null if there is none.
  SimHost* at(const SocketAddress& address) const;

  // The path of packets from one host to another. The way back is a path of its own.
  struct Path {
    std::unique_ptr<SimOptions> options;  // null if the options of the world apply
    bool cut = false;
  };
  // Returns the path from one host to another, and makes it if it does not exist. The reference stays valid.
  Path& path(const SocketAddress& from, const SocketAddress& to);
  // Returns the options of the path from one host to another, or `otherwise` if the path has no options of its own.
  const SimOptions& options(const SocketAddress& from, const SocketAddress& to, const SimOptions& otherwise) const;
  // Ends the cut of every path, so that packets arrive again.
  void heal();
  // True if packets from the host `from` to the host `to` are lost because the path is cut or the machine `to` has no
  // power.
  bool is_cut(const SocketAddress& from, const SocketAddress& to) const;

 private:
  const Path* find(const SocketAddress& from, const SocketAddress& to) const;

  std::vector<std::shared_ptr<SimHost>> hosts_;
  std::map<std::pair<std::string, std::string>, Path> paths_;
};

}  // namespace peal::detail
