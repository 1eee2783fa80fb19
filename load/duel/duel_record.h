// SPDX-License-Identifier: BSD-3-Clause
// What a duel saw: its slices, in the order in which they were played, and what they add up to. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <load/duel/duel_options.h>
#include <load/record/recording.h>
#include <peal/base/clock.h>
#include <peal/observe/histogram.h>

namespace peal::load {

// One contender's turn.
struct SliceRecord {
  size_t restart = 0;
  size_t round = 0;
  size_t place = 0;  // in the round's order
  size_t contender = 0;
  uint64_t messages = 0;
  uint64_t offered = 0;  // at a fixed rate: due within it
  Duration span{};       // from its begin until every answer was back
  // From its begin to that of the contender's next: what a server puts off is charged to what caused it.
  std::optional<Duration> server_cpu;
  std::optional<uint64_t> server_switches = {};  // of its threads, in the same time
  Duration client_cpu{};                         // of the generator's threads, spinning included
  Duration spin{};                               // of that, spinning
  int64_t p50_ns = 0;                            // of the latency; 0: no message came back
  int64_t p99_ns = 0;

  double seconds() const { return std::chrono::duration<double>(span).count(); }
};

// Of the latency of all messages of a restart.
struct DuelPercentiles {
  int64_t p50_ns = 0;
  int64_t p99_ns = 0;
  std::string hdr = {};  // all of it, as encode_histogram() writes it
};

// What one contender's slices add up to.
struct DuelSideRecord {
  Histogram latency{kLatencyRange};
  Histogram connect{kLatencyRange};
  std::optional<Handshakes> handshakes;  // where there is a layer
  Counts counts;
  Failures failures;
  uint64_t rss_bytes = 0;        // the most seen; 0: not known
  uint64_t rss_start_bytes = 0;  // before the first connection
  std::vector<uint64_t> rss_by_restart;
  std::vector<uint64_t> rss_start_by_restart;
  size_t served = 0;  // connections on which a message came back
  std::vector<size_t> served_by_restart;
  std::vector<DuelPercentiles> latency_by_restart;
  // At the end of each restart, all messages answered and what was put off done.
  Duration idle_cpu{};
  Duration idle_time{};
  // After the first restart: what was used in some of the time and not in most of it; what its slices were charged.
  Duration late_cpu{};
  Duration charged_cpu{};
  size_t processes = 0;
  std::string fault;              // why it was left out, in turn; empty: it plays
  bool has_orphans = false;       // processes that their parents left to themselves: their CPU time is nobody's
  bool forgets_children = false;  // what its ended children used is not in its CPU time
};

// The machine where the servers ran, if that was another.
struct ServerHost {
  std::string name;     // as it was called on the command line
  std::string address;  // where the servers listened, without a port
  std::string kernel;
  std::string processor;
  size_t cpus = 0;       // that servers may use there
  bool is_here = false;  // it is this machine all the same: the generator is no stranger there
  // From the beginning of the duel to its end, of all its CPUs together.
  Duration elapsed{};
  Duration stolen{};   // by the hypervisor
  Duration foreign{};  // used by others than the servers and who starts them
};

struct DuelRecord {
  DuelOptions options;
  std::string experiment;        // as the command line calls it
  std::string request;           // what a message is, in a few words
  std::string schedule;          // when messages leave
  std::vector<int> server_cpus;  // empty: nothing is pinned
  std::vector<int> client_cpus;
  std::optional<ServerHost> server_host;  // none: this machine
  std::string engine;
  std::vector<SliceRecord> slices;
  std::vector<DuelSideRecord> sides;  // a contender each
  size_t restarts = 0;                // that were played to the end
  Duration elapsed{};
  bool interrupted = false;
};

}  // namespace peal::load
