// SPDX-License-Identifier: BSD-3-Clause
// History: the figures of the last ten minutes, for the graphs of the inspector's page. It gets a Snapshot once a
// second and keeps the rates, shares and percentiles that follow from two snapshots.
//
// Each figure takes 2,400 bytes: 600 samples of a float. A loop has eight figures, a server at most eight. A method or
// a route has at most five, and at most kMostCalls of a server are kept, those that were called first. A metric of the
// program has at most three. A figure that is not known at some time has no value there: the loop did not answer, or
// the server did not exist yet.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <peal/base/clock.h>
#include <peal/inspect/parts/call_stats.h>
#include <peal/inspect/parts/snapshot.h>

namespace peal::detail {

class History {
 public:
  static constexpr size_t kSamples = 600;
  static constexpr Duration kPeriod = std::chrono::seconds(1);
  static constexpr size_t kMostCalls = 100;  // methods or routes of a server whose figures are kept
  // The most metrics of the program whose figures are kept: those that were seen first.
  static constexpr size_t kMostMetricTracks = 200;

  // Adds a sample. The first snapshot adds none, because rates need two. A snapshot that was added before adds none.
  void add(const Snapshot& snapshot);

  // Returns the samples after the one with the number `seen`, as the JSON of /history. Samples are numbered from 1.
  // A `seen` of 0, or of a number that does not exist, returns all samples that are kept. The figures of one method or
  // route are added if `calls` names it.
  nlohmann::ordered_json since(uint64_t seen, const std::optional<CallsName>& calls = {}) const;

 private:
  // The figures of one thing, such as a loop, each with its latest kSamples values. NaN means that the value is not
  // known.
  class Track {
   public:
    // Sets the value of a figure in the sample `number`. A figure that is new has no earlier values.
    void set(std::string_view name, uint64_t number, double value);
    // Forgets the values that were in the place of the sample `number`.
    void begin(uint64_t number);
    // Adds an array for each figure, with the samples from `first` to `last`.
    void write(nlohmann::ordered_json& json, uint64_t first, uint64_t last) const;

   private:
    using Values = std::array<float, kSamples>;
    std::vector<std::pair<std::string_view, std::unique_ptr<Values>>> figures_;
  };
  // What was seen last of a loop, a server, a call or a metric, and its figures.
  template <class Seen>
  struct Tracked {
    Seen last;
    TimePoint at{};  // when it was seen
    Track track;
  };
  struct SeenServer {
    size_t number = 0;
    std::string name;
    NetStats stats;
    std::optional<HttpStats> http;
    CallStats sum;  // of all its methods and routes
  };
  struct TrackedServer : Tracked<SeenServer> {
    std::vector<Tracked<CallStats>> calls;  // in the order in which they were seen
  };

  struct TrackedMetric : Tracked<MetricReading> {
    bool shown = true;  // false if the latest snapshot does not have the metric
  };
  using MetricName = std::pair<std::string, MetricLabels>;

  void add_process(const Snapshot& snapshot);
  void add_loop(const LoopSnapshot& loop, TimePoint now);
  void add_server(const ServerSnapshot& server, TimePoint now);
  void add_calls(TrackedServer& known, const std::vector<CallView>& calls, TimePoint before, TimePoint now);
  void add_metrics(const Snapshot& snapshot);
  void add_metric(TrackedMetric& kept, const MetricReading& metric, TimePoint now) const;
  // Sets the figures of calls: what was added since `then` in the time `passed`.
  void set_calls(Track& track, const CallCounts& now, const CallCounts& then, Duration passed) const;
  void set_latency(Track& track, const Histogram& now, const Histogram& then) const;
  // Returns the samples of one method or route from `first` on, as an array of one row. Empty if there is none.
  nlohmann::ordered_json calls_since(const CallsName& wanted, uint64_t first) const;

  uint64_t newest_ = 0;                                    // the number of the latest sample; 0 if there is none
  std::array<double, kSamples> times_{};                   // when each sample was taken, in seconds since 1970
  std::optional<std::pair<TimePoint, Duration>> process_;  // time and CPU time of the latest snapshot
  Track process_track_;
  std::vector<Tracked<LoopSnapshot>> loops_;  // in the order in which they were seen
  std::vector<TrackedServer> servers_;        // likewise
  std::map<MetricName, TrackedMetric> metrics_;
  size_t metrics_without_track_ = 0;  // in the latest snapshot
};

}  // namespace peal::detail
