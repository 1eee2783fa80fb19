// SPDX-License-Identifier: BSD-3-Clause
// The record of a duel: its slices, in the order in which they were played, and the totals of each contender. Plain
// values.
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

// The measurements of one slice. A slice is a period in which the load generator sends messages to only one contender.
// In each round, every contender has one slice.
struct SliceRecord {
  size_t restart = 0;
  size_t round = 0;
  size_t place = 0;  // position in the order of the round
  size_t contender = 0;
  uint64_t messages = 0;
  uint64_t offered = 0;  // at a fixed rate: messages that the schedule wanted to send in the slice
  Duration span{};       // from the start of the slice until every answer has arrived
  // The CPU time that the server used from the start of this slice to the start of the same server's next slice. Work
  // that the server does shortly after this slice is therefore included. The last slice of a server in a restart has no
  // next slice. Its CPU time is counted until the last round has ended, or up to 50 ms longer. Unset if the CPU time is
  // not known.
  std::optional<Duration> server_cpu;
  std::optional<uint64_t> server_switches = {};  // context switches of the server's threads in the same time
  Duration client_cpu{};                         // CPU time of the generator's threads, including spinning
  Duration spin{};                               // the part of client_cpu that was spent spinning
  int64_t p50_ns = 0;                            // median latency; 0 if no message came back
  int64_t p99_ns = 0;

  double seconds() const { return std::chrono::duration<double>(span).count(); }
};

// Percentiles of the latency of one contender, over all its messages in one restart.
struct DuelPercentiles {
  int64_t p50_ns = 0;
  int64_t p99_ns = 0;
  std::string hdr = {};  // the whole histogram, as encode_histogram() writes it
};

// The totals of one contender, in one restart or in the whole duel. The measurements of single slices are not here, but
// in SliceRecord.
struct DuelSideRecord {
  Histogram latency{kLatencyRange};
  Histogram connect{kLatencyRange};
  std::optional<Handshakes> handshakes;  // set if the connections have a layer
  Counts counts;
  Failures failures;
  uint64_t rss_bytes = 0;        // the highest memory use seen; 0 if not known
  uint64_t rss_start_bytes = 0;  // memory use before the first connection
  std::vector<uint64_t> rss_by_restart;
  std::vector<uint64_t> rss_start_by_restart;
  size_t served = 0;  // connections on which a message came back
  std::vector<size_t> served_by_restart;
  std::vector<DuelPercentiles> latency_by_restart;
  // At the end of each restart, the duel measures the CPU time of the server while no message is in flight. `idle_time`
  // is the length of this measurement. `idle_cpu` is the CPU time that the server used during the measurement.
  Duration idle_cpu{};
  Duration idle_time{};
  // Two CPU times of the server in the first restart. The duel compares them, because the figures of the server are
  // wrong if late_cpu is a large part of charged_cpu.
  // - late_cpu: the CPU time that the server used for deferred work after its last slice. The duel measures late_cpu in
  //   a wait at the end of the restart. No slice includes late_cpu. CPU time that the server uses steadily, even when
  //   it is idle, is not part of late_cpu.
  // - charged_cpu: the sum of the CPU times of the contender's slices. The slices of the warm-up round are included.
  Duration late_cpu{};
  Duration charged_cpu{};
  size_t processes = 0;
  // The error because of which the contender was left out of the rest of the duel. Empty if the contender was not left
  // out. Contenders are left out only with DuelOptions::in_turn. Without `in_turn`, all contenders play together, so an
  // error of one contender ends the whole duel.
  std::string fault;
  // True if the server had an orphan at the end of a restart. An orphan is a process that the server has started and
  // that still runs after its parent has ended. CPU time of orphans may be missing in this record, because the duel
  // finds the processes of a server by their parents. Always false for a server that was already running before the
  // duel.
  bool has_orphans = false;
  bool forgets_children = false;  // true if CPU time of its ended children is missing
};

// Describes the machine on which the servers run. The user has named this machine on the command line. The load
// generator usually runs on another machine.
struct ServerHost {
  std::string name;     // as given on the command line
  std::string address;  // where the servers listened, without a port
  std::string kernel;
  std::string processor;
  size_t cpus = 0;  // how many CPUs the servers may use there
  // True if this host is the machine of the load generator. Then `foreign` includes the CPU time of the generator.
  bool is_here = false;
  // These three times cover the whole duel. `elapsed` is wall-clock time. `stolen` and `foreign` are CPU time, summed
  // over all CPUs of the host.
  Duration elapsed{};
  Duration stolen{};   // CPU time that the hypervisor took away
  Duration foreign{};  // CPU time of other programs than the servers and the agent that starts them
};

struct DuelRecord {
  DuelOptions options;
  std::string experiment;        // its name on the command line
  std::string request;           // describes a message in a few words
  std::string schedule;          // describes when messages are sent
  std::vector<int> server_cpus;  // empty if nothing is pinned
  std::vector<int> client_cpus;
  std::optional<ServerHost> server_host;  // unset: the servers run on this machine
  std::string engine;
  std::vector<SliceRecord> slices;
  std::vector<DuelSideRecord> sides;  // one per contender
  size_t restarts = 0;                // restarts that were played to their end
  Duration elapsed{};
  bool interrupted = false;
};

}  // namespace peal::load
