// SPDX-License-Identifier: BSD-3-Clause
// What a run of the load generator is asked for, and the texts it is asked in. Plain values, no I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <load/plan/arrivals.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>
#include <peal/engine/stream_port.h>
#include <peal/loop/spin.h>

namespace peal::load {

// How many requests a connection carries before it is closed and opened anew: drawn anew each time, both ends included.
struct RequestRange {
  uint64_t least = 0;  // 0: no end
  uint64_t most = 0;

  bool endless() const { return most == 0; }
};

struct LoadOptions {
  std::string target_text;  // as it was asked for: reports quote it
  SocketAddress target;
  size_t connections = 1;  // spread evenly over the threads
  size_t threads = 1;      // a loop each
  size_t size = 64;        // bytes of a message: ping-pong and framed echo
  size_t pipeline = 1;     // messages in flight on a connection
  Duration duration = std::chrono::seconds(10);
  Duration warm_up = std::chrono::seconds(1);   // from the last connection's opening to the first instant that counts
  Duration interval = std::chrono::seconds(1);  // of the series
  bool interval_histograms = false;             // each interval keeps its latencies whole

  // Open loop: when messages are due, whatever the server does. Nothing: closed loop.
  std::optional<ArrivalPlan> arrivals;
  std::optional<Duration> deadline;  // a message not sent so long after it was due is shed; open loop
  std::optional<Duration> timeout;   // a message not answered so long after it was sent fails, with its connection
  uint64_t seed = 1;                 // of what is drawn: Poisson arrivals, requests a connection

  RequestRange requests_per_connection;
  bool reset_close = false;            // a used-up connection is closed with RST, not FIN
  double connect_rate = 0;             // connections opened a second, over all threads; 0: as fast as they open
  size_t idle_connections = 0;         // held open beside the others, and silent
  std::vector<SocketAddress> sources;  // taken in turn; none: the kernel chooses
  Duration connect_timeout = std::chrono::seconds(10);  // for all connections together
  Duration grace = std::chrono::seconds(1);             // for what is in flight at the end to come back
  // The server answers some connections at a time and leaves the others waiting: who has not had a byte by the end was
  // not failed, it waited.
  bool expect_queueing = false;

  std::string engine = "auto";
  const StreamLayer* layer = nullptr;  // what the connections run over; it outlives the run. Null: nothing
  std::string host;                    // whom the layer is to reach; empty: whoever has the address
  std::string layer_text;              // as reports call it: "TLS, every handshake full"; empty: none
  Spin spin;                           // off: a generator shares the machine with what it measures
  std::optional<int> server_pid;       // whose CPU, memory and context switches are read, its descendants' too
  // Nothing is sent before. Generators on several hosts begin together.
  std::optional<std::chrono::system_clock::time_point> start_at;
  bool debug = false;  // each failure is logged as it happens

  bool closed_loop() const { return !arrivals; }
};

inline constexpr size_t kMostConnections = 1'000'000;
inline constexpr size_t kMostThreads = 256;
inline constexpr size_t kMostBytes = size_t{16} << 20;
inline constexpr size_t kMostPipelined = 10'000;
inline constexpr double kMostRate = 1e9;
inline constexpr Duration kLongest = std::chrono::hours(24 * 7);
inline constexpr Duration kShortestInterval = std::chrono::milliseconds(10);

// "10s", "1.5s", "250ms", "50us", "2m", "1h"; no sign, at most kLongest. Nothing for anything else.
std::optional<Duration> parse_duration(std::string_view text);
// "20000/s", "20000", "20k/s", "1.5M/s"; more than 0, at most kMostRate. Nothing for anything else.
std::optional<double> parse_rate(std::string_view text);
// "64", "16KiB", "1MiB"; 0 to kMostBytes. Nothing for anything else.
std::optional<size_t> parse_size(std::string_view text);
// "off", "auto", or a bound such as "50us": a whole number of ns, us or ms, more than 0, at most kMaxSpin. EINVAL for
// anything else.
Result<Spin> parse_spin(std::string_view text);
// "40", "10-100". Nothing for anything else, 0 included.
std::optional<RequestRange> parse_request_range(std::string_view text);

// Why these options make no sense together, as one sentence; empty when they do.
std::string options_trouble(const LoadOptions& options);
// Open fds the run needs at once.
size_t fds_needed(const LoadOptions& options);

}  // namespace peal::load
