// SPDX-License-Identifier: BSD-3-Clause
// Snapshot: all that the inspector knows at one moment, as plain values. The pages, the JSON and the metrics are made
// of a Snapshot.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/layer_facts.h>
#include <peal/base/log.h>
#include <peal/base/memory/block_pool.h>
#include <peal/base/memory/memory_budget.h>
#include <peal/http/server/http_stats.h>
#include <peal/http/server/route_stats.h>
#include <peal/inspect/process_facts.h>
#include <peal/loop/loop.h>
#include <peal/net/connection_facts.h>
#include <peal/net/net_stats.h>
#include <peal/observe/histogram.h>
#include <peal/observe/method_stats.h>
#include <peal/observe/metrics.h>
#include <peal/observe/stall_watchdog.h>

namespace peal::detail {

// Identifies a connection as long as the inspector lives; no later connection gets the same name. As text, the four
// numbers are joined by dots: "2.0.17.203".
struct ConnectionName {
  size_t server = 0;        // the number of the server
  size_t part = 0;          // the index of the loop among the server's loops (Server::views())
  uint32_t slot = 0;        // the slot of the connection on that loop
  uint32_t generation = 0;  // distinguishes connections that used the same slot

  // Returns the name that is written in `text`. Returns nullopt if `text` has another form.
  static std::optional<ConnectionName> parse(std::string_view text);
  std::string to_string() const;
};

struct LoopSnapshot {
  size_t number = 0;  // counts from 0, in the order in which loops were added
  bool answered = false;
  bool ended = false;
  Duration silent{};  // time since the loop was asked, if it has not answered; the other members are older then
  std::string thread;
  pid_t thread_id = 0;
  std::string engine;
  Duration cpu{};            // CPU time of the loop's thread
  size_t tasks_waiting = 0;  // the current number, even if the loop did not answer
  size_t timers = 0;
  LoopStats stats;
  EngineStats engine_stats;
  BlockStats blocks;
  std::optional<TurnTimes> times;  // empty if turns are not timed
  size_t recorder_events = 0;      // capacity of the flight recorder; 0 if there is none
};

struct ConnectionRow {
  ConnectionName name;
  size_t loop = 0;
  uint64_t rank = 0;  // its place in the order of the query: the highest rank is first (ConnectionList::ranks)
  ConnectionFacts facts;
};

struct ServerSnapshot {
  size_t number = 0;
  std::string name;
  bool draining = false;  // Server::draining()
  bool partial = false;   // true if a loop did not answer, so that its share of the counters is old
  size_t connections = 0;
  std::optional<size_t> tasks;  // coroutines of a CoServer; empty for other servers
  NetStats stats;
  std::optional<HttpStats> http;
  std::vector<MethodStats> methods;
  std::vector<RouteStats> routes;    // empty unless the server measures its routes
  std::vector<SlowRequest> slowest;  // the slowest of all loops, the slowest first
  std::optional<LayerStats> layer;   // empty if the server has no layer
  size_t matched = 0;                // connections that match Wanted::connections
  std::vector<ConnectionRow> rows;   // the first of them, loop by loop; none of a loop that did not answer
};

struct SystemFacts {
  std::string host;
  std::string kernel;
  unsigned processors = 0;
  std::array<double, 3> load{};
  uint64_t memory_bytes = 0;
  uint64_t available_bytes = 0;
  Duration up{};
};

struct Snapshot {
  std::chrono::system_clock::time_point taken;
  std::vector<LoopSnapshot> loops;
  std::vector<ServerSnapshot> servers;
  std::vector<Stall> stalls;
  bool watched = false;  // true if a StallWatchdog was added
  TimePoint now;         // the time of the snapshot on the clock of the stalls' times
  ProcessFacts process;
  Duration process_cpu{};            // CPU time of the process, more precise than in `process`
  std::vector<ThreadFacts> threads;  // empty unless Wanted::details
  SystemFacts system;                // empty unless Wanted::details
  MemoryMarks marks;
  uint64_t held_bytes = 0;
  LogLevel log_level = LogLevel::kInfo;
  MetricReadings metrics;  // those that the program has declared
};

SystemFacts read_system_facts();

// Returns the time until the earliest expiry of the layer's certificates (LayerStats::valid_until). The time is
// negative after that. Returns nullopt if the layer has no certificate.
std::optional<std::chrono::seconds> certificate_left(const LayerStats& layer,
                                                     std::chrono::system_clock::time_point now);

// Returns a percentile of a histogram of nanoseconds, in seconds.
inline double seconds_at(const Histogram& times, double percent) {
  return static_cast<double>(times.value_at_percentile(percent)) * 1e-9;
}

// The upper ends of the histogram intervals for turns and calls, 10 us to 10 s, in nanoseconds.
inline constexpr std::array<int64_t, 13> kTimeLimitsNs = {
    10'000,     30'000,      100'000,     300'000,       1'000'000,     3'000'000,     10'000'000,
    30'000'000, 100'000'000, 300'000'000, 1'000'000'000, 3'000'000'000, 10'000'000'000};

}  // namespace peal::detail
