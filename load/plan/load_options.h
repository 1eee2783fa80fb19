// SPDX-License-Identifier: BSD-3-Clause
// The options of a run of the load generator, and functions that parse them from text. They are plain values without
// I/O.
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

// The number of requests that a connection carries. For each connection, this number is drawn at random from `least` to
// `most`, both included. After that many requests, the connection is closed, and a new connection replaces it. If
// `most` is 0, the number of requests is not limited.
struct RequestRange {
  uint64_t least = 0;
  uint64_t most = 0;

  bool endless() const { return most == 0; }
};

struct LoadOptions {
  std::string target_text;  // as the user wrote it; reports show it
  SocketAddress target;
  size_t connections = 1;  // connections of all threads together; spread evenly over the threads
  size_t threads = 1;      // each thread has its own event loop
  size_t size = 64;        // bytes of a message; only for ping-pong and framed echo
  size_t pipeline = 1;     // how many messages may be in flight on a connection
  Duration duration = std::chrono::seconds(10);
  // The length of the warm-up before the measurement. The warm-up begins when two conditions hold:
  // - Each connection has opened, or has failed to open.
  // - The time `start_at` has come, if it is set.
  Duration warm_up = std::chrono::seconds(1);
  Duration interval = std::chrono::seconds(1);  // length of an interval of the time series in the report
  bool interval_histograms = false;             // true: each interval keeps its latency histogram

  // The send schedule. It sets the times at which messages are sent, even if the server is slow (open loop). Without a
  // schedule, each answer triggers the next message (closed loop).
  std::optional<ArrivalPlan> arrivals;
  // The longest delay from the scheduled time of a message to its sending. If the delay would be longer, the message is
  // never sent, and it counts as shed. May be set only with a send schedule (open loop). Empty: no limit.
  std::optional<Duration> deadline;
  // The time limit for the answer to a message. The opening of a connection has the same limit. If the limit is
  // exceeded, the run closes the connection and counts a failure. Empty: no limit.
  std::optional<Duration> timeout;
  uint64_t seed = 1;  // seed of all random numbers: Poisson arrivals, requests per connection

  RequestRange requests_per_connection;
  bool reset_close = false;            // true: after its last request, a connection is closed by RST instead of FIN
  double connect_rate = 0;             // attempts to connect per second, by all threads together; 0: no limit
  size_t idle_connections = 0;         // only held open, in addition to `connections`; nothing is sent on them
  std::vector<SocketAddress> sources;  // local addresses, used one after the other; empty: the kernel chooses
  Duration connect_timeout = std::chrono::seconds(10);  // time limit until all connections of the run are open
  // After the end of the measurement, the run waits at most this long for answers that are still missing.
  Duration grace = std::chrono::seconds(1);
  // Decides how the run counts connections that got nothing from the server. On such a connection, messages were sent,
  // but no byte of an answer has come back by the end of the run. A connection that did not open within
  // `connect_timeout` is treated in the same way.
  // - true: the connection counts as waiting in a queue of the server (struct Queued). The user sets this option if the
  //   server is expected to serve only some connections at a time.
  // - false: each message without an answer counts as failed, and so does each connection that did not open.
  // Idle connections (`idle_connections`) that did not open always count as failed.
  bool expect_queueing = false;

  std::string engine = "auto";
  // The protocol layer over TCP, for example TLS. Null means plain TCP. The object must exist until the run has ended.
  const StreamLayer* layer = nullptr;
  // The host name of the server. The protocol layer, for example TLS, checks that the server has this name. If `host`
  // is empty, the layer does not check the name of the server.
  std::string host;
  std::string layer_text;  // for reports, e.g. "TLS, every handshake full"; empty without a layer
  Spin spin;               // busy polling; off by default, because the server may need the same cores
  // The process ID of the server. If an ID is set, the run measures the CPU time, memory and context switches of this
  // process and its descendants.
  std::optional<int> server_pid;
  // The earliest time at which the warm-up may begin. Several load generators on different hosts begin together if all
  // of them have the same `start_at`.
  std::optional<std::chrono::system_clock::time_point> start_at;
  bool debug = false;  // true: prints each failure to stderr when it happens

  bool closed_loop() const { return !arrivals; }
};

inline constexpr size_t kMostConnections = 1'000'000;
inline constexpr size_t kMostThreads = 256;
inline constexpr size_t kMostBytes = size_t{16} << 20;
inline constexpr size_t kMostPipelined = 10'000;
inline constexpr double kMostRate = 1e9;
inline constexpr Duration kLongest = std::chrono::hours(24 * 7);
inline constexpr Duration kShortestInterval = std::chrono::milliseconds(10);

// Parses a duration such as "10s", "1.5s", "250ms", "50us", "2m" or "1h". The duration must be from 0 to 7 days
// (kLongest). Returns std::nullopt for any other text.
std::optional<Duration> parse_duration(std::string_view text);
// Parses a rate per second, such as "20000/s", "20000", "20k/s" or "1.5M/s". The rate must be more than 0 and at most
// 1e9 (kMostRate). Returns std::nullopt for any other text.
std::optional<double> parse_rate(std::string_view text);
// Parses a number of bytes, such as "64", "16KiB" or "1MiB". The result must be a whole number from 0 to 16 MiB
// (kMostBytes). Returns std::nullopt for any other text.
std::optional<size_t> parse_size(std::string_view text);
// Parses how long an event loop polls busily before it sleeps. The text is "off", "auto", or a time limit such as
// "50us". The time limit is a whole number with the unit ns, us or ms. It must be more than 0 and at most 10 ms
// (kMaxSpin). Fails with EINVAL for any other text.
Result<Spin> parse_spin(std::string_view text);
// Parses a number such as "40", or a range such as "10-100". A single number is a range with equal ends. All numbers
// must be at least 1. The second number must not be less than the first. Returns std::nullopt for any other text.
std::optional<RequestRange> parse_request_range(std::string_view text);

// Checks whether the options are valid. Returns an empty text if all options are valid. Otherwise returns a sentence
// that says what is wrong.
std::string options_trouble(const LoadOptions& options);
// Returns how many file descriptors the run needs at most at the same time. Each connection needs one. The numbers for
// the threads and for the rest of the process are estimates.
size_t fds_needed(const LoadOptions& options);

}  // namespace peal::load
