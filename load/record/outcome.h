// SPDX-License-Identifier: BSD-3-Clause
// Outcome: everything that a run has measured, added up over its threads, and the figures computed from it. It is a
// plain value. The checks (gates) and the reports are computed only from it and from the options.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <load/plan/load_options.h>
#include <load/record/recording.h>

namespace peal::load {

// The resources that the server process and its descendants used during the measurement.
struct ServerUse {
  std::optional<Duration> cpu;  // empty if it could not be read, e.g. because the server had ended
  uint64_t rss_bytes = 0;       // at the end of the measurement
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  size_t processes = 0;           // at the end of the measurement
  bool forgets_children = false;  // the server ignores SIGCHLD, so what its ended children used is missing
};

// The measurement is divided into short intervals, for example of one second. This struct has the figures of one
// interval. All intervals together are the time series of the run.
struct Interval {
  Duration from{};  // time since the measurement began
  Duration to{};
  Counts counts;  // counts of this interval
  uint64_t failures = 0;
  size_t in_flight = 0;  // messages in flight at the end of the interval
  size_t open = 0;       // open connections at the end of the interval
  int64_t p50_ns = 0;    // percentiles of the latency; 0 if no message was answered
  int64_t p90_ns = 0;
  int64_t p99_ns = 0;
  int64_t p999_ns = 0;
  int64_t max_ns = 0;
  std::optional<Histogram> latency;  // set if LoadOptions::interval_histograms is set
  bool percentiles_known = true;     // false if runs without interval histograms were added up

  // Computes the percentiles of the histogram `times` and stores them in this interval, for example in `p99_ns`.
  void take_percentiles(const Histogram& times);
  double messages_per_s() const {
    return to > from ? static_cast<double>(counts.messages) * 1e9 / static_cast<double>((to - from).count()) : 0;
  }
};

// Describes a percentile of an Interval: its name in the JSON report, and the field of Interval that stores it. The
// array kIntervalPercentiles lists all percentiles, in the order of the report.
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

  std::string engine;                           // name of the engine that ran
  std::chrono::system_clock::time_point began;  // when the measurement began
  Recording total;                              // what all threads together recorded during the measurement
  std::vector<Interval> intervals;
  Duration window{};                     // length of the measurement; the mean of all threads
  bool echoes = true;                    // true if the server sends back as many bytes as it receives
  size_t opened = 0;                     // connections that opened at least once; idle ones are not counted
  size_t served = 0;                     // of the opened connections, those on which a message was answered
  Queued queued;                         // connections that the server had not begun to serve at the end
  size_t idle_open = 0;                  // idle connections that were open at the end
  Counts lifetime;                       // counts of the whole run, from the warm-up to the last answer
  Histogram connect{kLatencyRange};      // connect times of the whole run; most are before the measurement
  std::optional<Handshakes> handshakes;  // handshakes of the whole run; empty without a layer such as TLS
  Failures failures;
  std::map<int, uint64_t> statuses;  // HTTP: answers by status, of the whole run; empty for other protocols
  // Counts of messages that were not answered when the measurement ended:
  // - `unsent`: messages that were not sent, although their scheduled time had come. Messages that were dropped because
  //   of LoadOptions::deadline are not included; Counts::shed counts them. In a closed loop, `unsent` is 0, because
  //   there is no schedule.
  // - `unanswered`: messages that were sent, but whose answers had not come.
  uint64_t unsent = 0;
  uint64_t unanswered = 0;
  double offered = 0;  // messages that the schedule wanted sent during the measurement; 0 in a closed loop
  // True if no message was in flight when the run ended. In that case, each message that was sent was answered, or its
  // connection has ended. False if the run stopped waiting for answers, because LoadOptions::grace was over or a second
  // signal came.
  bool came_back = false;
  bool interrupted = false;
  std::optional<ServerUse> server;

  double seconds() const { return static_cast<double>(window.count()) * 1e-9; }
  double messages_per_s() const { return per_second(static_cast<double>(total.counts.messages)); }
  // Returns how many MiB (2^20 bytes) per second the load generator received.
  double mib_per_s() const { return per_second(static_cast<double>(total.counts.bytes_received) / (1 << 20)); }
  // Returns the CPU time of the load generator, without the time in which the Pacer polled busily. In an open loop, the
  // Pacer polls busily just before it has to send a message, so that it sends the message in time. The busy polling
  // that the option LoadOptions::spin causes is not subtracted.
  Duration client_work() const { return total.cpu > total.spin ? total.cpu - total.spin : Duration::zero(); }
  double client_ns_per_message() const { return per_message(client_work()); }
  // Returns how busy the load generator was, from 0 to 1. 1 means that each of its threads used a whole core.
  double client_share(const LoadOptions& options) const { return share(client_work(), options.threads); }
  bool knows_server_cpu() const { return server && server->cpu; }
  double server_ns_per_message() const { return knows_server_cpu() ? per_message(*server->cpu) : 0; }
  // Returns how busy the server was. 1 means that the server used as many whole cores as the load generator has
  // threads. The number of the server's threads is not known, so the generator's number serves as the measure. The
  // result can be more than 1. Returns 0 if the CPU time of the server is not known.
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
