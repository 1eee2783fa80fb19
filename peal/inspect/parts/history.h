// SPDX-License-Identifier: BSD-3-Clause
// History: the figures of the last ten minutes, for the graphs of the inspector's page. It gets a Snapshot once a
// second and keeps the rates, shares and percentiles that follow from two snapshots.
//
// Each figure takes 2,400 bytes: 600 samples of a float. A loop has eight figures, a server at most eight. A figure
// that is not known at some time has no value there: the loop did not answer, or the server did not exist yet.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <peal/base/clock.h>
#include <peal/inspect/parts/snapshot.h>

namespace peal::detail {

class History {
 public:
  static constexpr size_t kSamples = 600;
  static constexpr Duration kPeriod = std::chrono::seconds(1);

  // Adds a sample. The first snapshot adds none, because rates need two. A snapshot that was added before adds none.
  void add(const Snapshot& snapshot);

  // Returns the samples after the one with the number `seen`, as the JSON of /history. Samples are numbered from 1.
  // A `seen` of 0, or of a number that does not exist, returns all samples that are kept.
  nlohmann::ordered_json since(uint64_t seen) const;

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
  struct LoopTrack {
    LoopSnapshot last;  // the loop's latest answer
    TimePoint at{};     // when it came
    Track track;
  };
  struct ServerTrack {
    ServerSnapshot last;
    TimePoint at{};
    Track track;
  };

  void add_process(const Snapshot& snapshot);
  void add_loop(const LoopSnapshot& loop, TimePoint now);
  void add_server(const ServerSnapshot& server, TimePoint now);
  void forget_the_gone(const Snapshot& snapshot);

  uint64_t newest_ = 0;                                    // the number of the latest sample; 0 if there is none
  std::array<double, kSamples> times_{};                   // when each sample was taken, in seconds since 1970
  std::optional<std::pair<TimePoint, Duration>> process_;  // time and CPU time of the latest snapshot
  Track process_track_;
  std::vector<LoopTrack> loops_;      // in the order in which they were seen
  std::vector<ServerTrack> servers_;  // likewise
};

}  // namespace peal::detail
