// SPDX-License-Identifier: BSD-3-Clause
// The options of a duel. Plain values, no I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <load/plan/load_options.h>
#include <load/session/session.h>
#include <load/statistics/ratio_judge.h>
#include <peal/base/clock.h>
#include <peal/base/socket_address.h>

namespace peal::load {

// A contender is a server that takes part in the duel. A duel consists of one or more restarts. Either the duel starts
// the contender's program anew in each restart, or the server was already running before the duel. The duel never stops
// a server that was already running.
struct DuelContender {
  std::string name;
  // The program and its arguments. Empty if the duel does not start the server. The arguments must contain {listen} or
  // {port}. They may also contain {host} and {threads}. The duel replaces each of these placeholders by its value, for
  // example {port} by the port at which the server must listen.
  std::vector<std::string> command;
  // The address of a server that was already running. `target_text` is the address as the user wrote it. `target` is
  // the parsed address.
  std::string target_text;
  SocketAddress target;
  // The process id of a server that was already running. The CPU time of this process and its descendants is measured.
  // Unset if the user gave no process id.
  std::optional<int> pid;
  std::optional<size_t> twin_of = {};  // set for a twin: index of the contender whose program it repeats (A/A)
  // True if the user expects that the server serves only some of its connections at a time and lets the others wait.
  // `expect_queueing` may be true only under two conditions:
  // - DuelOptions::in_turn is true. Otherwise the server would serve the waiting connections while other contenders are
  //   measured.
  // - The load is a closed loop. A server that lets connections wait cannot keep up with a fixed rate of messages.
  bool expect_queueing = false;
  // `layer` is the protocol layer over TCP, for example TLS. `layer` is null if the contender uses plain TCP. The
  // object must exist until the duel has ended. Two contenders must not use the same StreamLayer object, because the
  // object counts the resumed handshakes of all its connections together. `host` is the server name that the layer
  // checks, and `layer_text` describes the layer in reports. LoadOptions has members with the same names and explains
  // them.
  const StreamLayer* layer = nullptr;
  std::string host = {};
  std::string layer_text = {};

  bool restarts() const { return !command.empty(); }
};

// The quantity by which two contenders are compared.
enum class DuelMetric : uint8_t {
  kServerCpu,  // server CPU time per message
  kRate,       // messages per second
  kP50,        // 50th percentile of the latency
  kP99,        // 99th percentile of the latency
};
inline constexpr DuelMetric kDuelMetrics[] = {DuelMetric::kServerCpu, DuelMetric::kRate, DuelMetric::kP50,
                                              DuelMetric::kP99};
// Returns "cpu", "rate", "p50" or "p99".
std::string_view to_string(DuelMetric metric);

// A claim about two contenders, which the duel tests. `bar` contains the claimed limit of the ratio `subject` /
// `rival`, and says whether the limit is an upper or a lower limit. An example is the claim that the CPU time of
// `subject` is at most 1.05 times that of `rival`. For this claim, bar.ratio is 1.05 and bar.side is kAtMost.
struct DuelClaim {
  std::string text;  // the claim as the user wrote it
  DuelMetric metric = DuelMetric::kServerCpu;
  size_t subject = 0;  // index of a contender
  size_t rival = 0;
  Bar bar;
};

// A function that makes the protocol for a contender's connections. The protocol may need the server's address, for
// example for the URL of HTTP requests. If the duel has started the server, `authority` is the address as HOST:PORT,
// and contender.target_text is empty. If the server was already running, `authority` is empty, and
// contender.target_text is the address that the user gave.
using DuelProtocol =
    std::function<std::unique_ptr<Protocol>(const DuelContender& contender, std::string_view authority)>;

// Time limits: how long the duel waits for a server.
struct DuelPatience {
  Duration start = std::chrono::seconds(10);   // until a server that was started accepts connections
  Duration answer = std::chrono::seconds(10);  // from the end of a slice until all its messages are answered
  Duration end = std::chrono::seconds(5);      // from SIGTERM to SIGKILL
  Duration first = std::chrono::seconds(10);   // how much longer than the budget the first restart may take
  // The length of a wait at the end of the first restart. During this wait, the duel measures the CPU time of work that
  // servers have deferred until long after their slices. Only the first restart has the wait, because the wait takes
  // long. The wait is never longer than 1/20 of DuelOptions::budget. With DuelOptions::in_turn, each contender gets an
  // equal share of the wait.
  Duration late = std::chrono::seconds(2);
};

struct DuelOptions {
  // The load options. They are the same for all contenders, except the target, the protocol layer with its host name,
  // and expect_queueing. These exceptions are taken from `contenders`. load.seed also determines the random orders in
  // which the contenders play.
  LoadOptions load;
  std::vector<DuelContender> contenders;  // including the twin, which with_twin() adds
  std::vector<DuelClaim> claims;
  // A restart consists of rounds. In each round, each contender plays one slice. While a contender plays, the load
  // generator sends messages only to this contender. `in_turn` says in which order the contenders play in a restart:
  // - true: one contender plays its slices of all rounds. After its last slice, the next contender begins. Only the
  //   connections of the contender that plays are open, so that the duel needs fewer file descriptors.
  // - false: in each round, the contenders play one after another, in a random order. The connections of all contenders
  //   stay open.
  bool in_turn = false;
  Duration slice = std::chrono::milliseconds(20);  // how long one contender plays before the next
  size_t rounds = 8;                               // measured rounds of a restart; one warm-up round comes first
  size_t restarts = 0;                             // 0: as many as `precision` requires
  double precision = 0.02;                         // wanted half width of the widest confidence interval; 0.02 is 2 %
  // The time limit of the whole duel. The duel begins no restart that would exceed the limit if the restart took as
  // long as the longest one so far. A restart that reaches the limit is stopped, and its measurements are dropped,
  // because they are incomplete. Only the first restart may exceed the limit, by patience.first, because a duel without
  // a complete restart has no result.
  Duration budget = std::chrono::seconds(60);
  size_t server_threads = 1;  // the value of {threads}, and the number of CPUs for the servers
  bool pin = true;            // keeps servers and generator on different CPUs if there are enough
  DuelPatience patience;

  // The duel reports latency only if its slices are at least this long. At the end of each slice, the generator sends
  // nothing until the last answers have arrived. With short slices, these pauses are so frequent that no long queues
  // form in the server. The measured latencies would then be too low.
  static constexpr Duration kShortestForLatency = std::chrono::milliseconds(500);
  bool shows_latency() const { return slice >= kShortestForLatency; }
  // Returns whether the CPU time of every contender's server can be read.
  bool knows_cpu() const;
  // Returns true if the duel starts the servers of all contenders. Returns false if at least one server was already
  // running.
  bool restart_all() const;
  // Returns the main metric of this duel. The main metric is the server CPU time if knows_cpu() is true. Otherwise the
  // main metric is the rate in a closed loop, and the 50th percentile of the latency in an open loop. A claim that
  // names no metric is about the main metric.
  //
  // If `restarts` is 0, the number of restarts depends on how precisely the ratios in the user's claims are known.
  // Without claims, the number depends on the ratios of the main metric.
  DuelMetric headline() const;
};

inline constexpr Duration kShortestSlice = std::chrono::milliseconds(5);
inline constexpr size_t kMostContenders = 128;
inline constexpr size_t kMostDuelRounds = 1000;
inline constexpr size_t kMostRestarts = 1000;

// Returns `contenders` with a twin of the first contender added at the end. The twin is a copy of the first contender
// with another name. The duel should find no difference between these two. A difference would mean that the measurement
// is wrong.
std::vector<DuelContender> with_twin(std::vector<DuelContender> contenders);

// Parses a claim such as "A/B <= 1.05" or "rate: A/B >= 0.97". A and B must be names of contenders. A claim that names
// no metric, such as the first example, is about the metric `usual`. The error is one sentence.
std::expected<DuelClaim, std::string> parse_claim(std::string_view text, const std::vector<DuelContender>& contenders,
                                                  DuelMetric usual);

// Checks the options. Returns one sentence that says what is wrong with them, or an empty text if nothing is wrong.
std::string duel_trouble(const DuelOptions& options);

}  // namespace peal::load
