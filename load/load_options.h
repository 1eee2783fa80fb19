// SPDX-License-Identifier: BSD-3-Clause
// What a run of the load generator is asked for, and the texts it is asked in. Plain values, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>
#include <peal/engine/socket_address.h>
#include <peal/loop/spin.h>

namespace peal::load {

struct LoadOptions {
  std::string target_text;  // as it was asked for: reports quote it
  SocketAddress target;
  size_t connections = 1;  // spread evenly over the threads
  size_t threads = 1;      // a loop each
  size_t size = 64;        // bytes that circulate on a connection: a message
  Duration duration = std::chrono::seconds(10);
  Duration warm_up = std::chrono::seconds(1);  // from the last connection's opening to the first instant that counts
  double rate = 0;                             // messages a second over all connections; 0: closed loop
  std::string engine = "auto";
  Spin spin;                                            // off: a generator shares the machine with what it measures
  Duration connect_timeout = std::chrono::seconds(10);  // for all connections together
  Duration grace = std::chrono::seconds(1);             // for what is in flight at the end to come back
  std::optional<int> server_pid;                        // whose CPU, memory and context switches are read
  std::vector<SocketAddress> sources;                   // taken in turn; none: the kernel chooses

  bool closed_loop() const { return rate == 0; }
};

inline constexpr size_t kMostConnections = 1'000'000;
inline constexpr size_t kMostThreads = 256;
inline constexpr size_t kMostBytes = size_t{16} << 20;
inline constexpr double kMostRate = 1e9;
inline constexpr Duration kLongest = std::chrono::hours(24 * 7);

// "10s", "1.5s", "250ms", "50us", "2m", "1h"; no sign, at most kLongest. Nothing for anything else.
std::optional<Duration> parse_duration(std::string_view text);
// "20000/s", "20000", "20k/s", "1.5M/s"; more than 0, at most kMostRate. Nothing for anything else.
std::optional<double> parse_rate(std::string_view text);
// "64", "16KiB", "1MiB"; 1 to kMostBytes. Nothing for anything else.
std::optional<size_t> parse_size(std::string_view text);

// Why these options make no sense together, as one sentence; empty when they do.
std::string options_trouble(const LoadOptions& options);
// Open fds the run needs at once.
size_t fds_needed(const LoadOptions& options);

}  // namespace peal::load
