// SPDX-License-Identifier: BSD-3-Clause
// Outcome: all a run measured, added up over its threads, and the figures that follow from it. A plain value: gates and
// reports are functions of it and of the options.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <load/plan/load_options.h>
#include <load/record/recording.h>

namespace peal::load {

// The server's process and its descendants, between the same two instants as the counts.
struct ServerUse {
  std::optional<Duration> cpu;  // nothing: it ended before
  uint64_t rss_bytes = 0;       // at the second
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  size_t processes = 0;           // at the second
  bool forgets_children = false;  // it ignores SIGCHLD: what its children used that ended is in no figure
};

// One step of the series.
struct Interval {
  Duration from{};  // since the measurement began
  Duration to{};
  Counts counts;  // of this interval, as the next three
  uint64_t failures = 0;
  size_t in_flight = 0;  // messages, at its end
  size_t open = 0;       // connections, at its end
  int64_t p50_ns = 0;    // of latency; 0 where nothing came back
  int64_t p90_ns = 0;
  int64_t p99_ns = 0;
  int64_t p999_ns = 0;
  int64_t max_ns = 0;
  std::optional<Histogram> latency;  // LoadOptions::interval_histograms
  bool percentiles_known = true;     // no: of several runs, added up without their histograms

  // Those of `times`.
  void take_percentiles(const Histogram& times);
  double messages_per_s() const {
    return to > from ? static_cast<double>(counts.messages) * 1e9 / static_cast<double>((to - from).count()) : 0;
  }
};

// Their names in JSON, in its order.
struct IntervalPercentile {
  const char* name;
  double percent;
  int64_t Interval::* value;
};
inline constexpr IntervalPercentile kIntervalPercentiles[] = {{"p50", 50, &Interval::p50_ns},
                                                              {"p90", 90, &Interval::p90_ns},
                                                              {"p99", 99, &Interval::p99_ns},
                                                              {"p999", 99.9, &Interval::p999_ns},
                                                              {"max", 100, &Interval::max_ns}};

inline void Interval::take_percentiles(const Histogram& times) {
  for (const IntervalPercentile& each : kIntervalPercentiles) {
    this->*each.value = times.value_at_percentile(each.percent);
  }
}

struct Outcome {
  explicit Outcome(const RecordingParts& parts) : total(parts) {
    if (parts.handshake) handshakes.emplace();
  }

  std::string engine;                           // the one that ran
  std::chrono::system_clock::time_point began;  // the first instant
  Recording total;                              // between the two instants, all threads
  std::vector<Interval> intervals;
  Duration window{};                     // between them, the mean over the threads
  bool echoes = true;                    // as many bytes come back as are sent
  size_t opened = 0;                     // of the connections asked for, those that opened at least once
  size_t served = 0;                     // of them, those on which a message came back
  Queued queued;                         // of them, those that still waited for their turn at the end
  size_t idle_open = 0;                  // of the idle ones, those open at the end
  Counts lifetime;                       // warm-up and what came back after the end included
  Histogram connect{kLatencyRange};      // of the whole life: most connections open before the first instant
  std::optional<Handshakes> handshakes;  // the same; where there is a layer
  Failures failures;
  // What the measurement's end cut off: open loop, due but not sent; sent but not back.
  uint64_t unsent = 0;
  uint64_t unanswered = 0;
  double offered = 0;      // messages that were due between the two instants; 0: closed loop
  bool came_back = false;  // after the end, all that was outstanding did, or its connection had failed
  bool interrupted = false;
  std::optional<ServerUse> server;

  double seconds() const { return static_cast<double>(window.count()) * 1e-9; }
  double messages_per_s() const { return per_second(static_cast<double>(total.counts.messages)); }
  // Received by the client, in 2^20 bytes.
  double mib_per_s() const { return per_second(static_cast<double>(total.counts.bytes_received) / (1 << 20)); }
  // Without the pacing's spinning.
  Duration client_work() const { return total.cpu > total.spin ? total.cpu - total.spin : Duration::zero(); }
  double client_ns_per_message() const { return per_message(client_work()); }
  // Of one core a thread.
  double client_share(const LoadOptions& options) const { return share(client_work(), options.threads); }
  bool knows_server_cpu() const { return server && server->cpu; }
  double server_ns_per_message() const { return knows_server_cpu() ? per_message(*server->cpu) : 0; }
  // The server is taken to have as many threads.
  double server_share(const LoadOptions& options) const {
    return knows_server_cpu() ? share(*server->cpu, options.threads) : 0;
  }

 private:
  double per_second(double count) const { return window > Duration::zero() ? count / seconds() : 0; }
  double per_message(Duration cost) const {
    return total.counts.messages == 0 ? 0
                                      : static_cast<double>(cost.count()) / static_cast<double>(total.counts.messages);
  }
  double share(Duration cpu, size_t threads) const {
    return per_second(static_cast<double>(cpu.count()) * 1e-9) / static_cast<double>(threads);
  }
};

}  // namespace peal::load
