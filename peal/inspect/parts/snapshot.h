// SPDX-License-Identifier: BSD-3-Clause
// Snapshot: what the inspector knows at one moment, as plain values; the pages, the JSON and the metrics are written
// from it.
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
#include <peal/inspect/process_facts.h>
#include <peal/loop/loop.h>
#include <peal/net/connection_facts.h>
#include <peal/net/net_stats.h>
#include <peal/observe/histogram.h>
#include <peal/observe/method_stats.h>
#include <peal/observe/stall_watchdog.h>

namespace peal::detail {

// Names a connection for as long as the inspector lives: which server, its how manyeth loop, and there. In text
// "2.0.17.203".
struct ConnectionName {
  size_t server = 0;
  size_t part = 0;
  uint32_t slot = 0;
  uint32_t generation = 0;

  static std::optional<ConnectionName> parse(std::string_view text);
  std::string to_string() const;
};

struct LoopSnapshot {
  size_t number = 0;  // from 0, in the order they were added
  bool answered = false;
  bool ended = false;
  Duration silent{};  // for how long it has owed an answer; the rest is then as of its last one
  std::string thread;
  pid_t thread_id = 0;
  std::string engine;
  Duration cpu{};            // of its thread
  size_t tasks_waiting = 0;  // of now, also when it did not answer
  size_t timers = 0;
  LoopStats stats;
  EngineStats engine_stats;
  BlockStats blocks;
  std::optional<TurnTimes> times;  // none: not measured
  size_t recorder_events = 0;      // 0: no flight recorder
};

struct ConnectionRow {
  ConnectionName name;
  size_t loop = 0;
  ConnectionFacts facts;
};

struct ServerSnapshot {
  size_t number = 0;
  std::string name;
  bool partial = false;  // a loop did not answer: its share of the counters is old
  size_t connections = 0;
  std::optional<size_t> tasks;  // of a CoServer
  NetStats stats;
  std::optional<HttpStats> http;
  std::vector<MethodStats> methods;
  std::optional<LayerStats> layer;  // none: no layer
  std::vector<ConnectionRow> rows;  // not all of them, if there are many
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
  bool watched = false;  // somebody looks for stalls
  TimePoint now;         // what the stalls' times are to be compared with
  ProcessFacts process;
  std::vector<ThreadFacts> threads;
  SystemFacts system;
  MemoryMarks marks;
  uint64_t held_bytes = 0;
  LogLevel log_level = LogLevel::kInfo;
};

SystemFacts read_system_facts();
// Until its certificate ends, less than nothing after that; nothing: it has none.
std::optional<std::chrono::seconds> certificate_left(const LayerStats& layer,
                                                     std::chrono::system_clock::time_point now);

// The upper ends of the intervals in which turns and calls are counted: 10 us to 10 s.
inline constexpr std::array<int64_t, 13> kTimeLimitsNs = {
    10'000,     30'000,      100'000,     300'000,       1'000'000,     3'000'000,     10'000'000,
    30'000'000, 100'000'000, 300'000'000, 1'000'000'000, 3'000'000'000, 10'000'000'000};

}  // namespace peal::detail
