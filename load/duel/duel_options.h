// SPDX-License-Identifier: BSD-3-Clause
// What a duel is asked for. Plain values, no I/O.
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

// Who plays: a program that the duel starts, again and again, or a server that runs already.
struct DuelContender {
  std::string name;
  // The program's words, which hold {listen} or {port}, and may hold {host} and {threads}. None: it runs already.
  std::vector<std::string> command;
  // Of a server that runs already.
  std::string target_text;
  SocketAddress target;
  std::optional<int> pid;              // whose CPU time is read, its descendants' too. None: it is not known
  std::optional<size_t> twin_of = {};  // the same contender once more: the A/A pair
  // It serves fewer connections at a time than there are: as LoadOptions has it. In turn alone.
  bool expect_queueing = false;
  // As LoadOptions has them: what its connections run over, a layer of its own, which outlives the duel.
  const StreamLayer* layer = nullptr;
  std::string host = {};
  std::string layer_text = {};

  bool restarts() const { return !command.empty(); }
};

// What a pair is compared by.
enum class DuelMetric : uint8_t {
  kServerCpu,  // server CPU time per message
  kRate,       // messages a second
  kP50,        // percentiles of the latency
  kP99,
};
inline constexpr DuelMetric kDuelMetrics[] = {DuelMetric::kServerCpu, DuelMetric::kRate, DuelMetric::kP50,
                                              DuelMetric::kP99};
// "cpu", "rate", "p50", "p99".
std::string_view to_string(DuelMetric metric);

// What shall be true: subject / rival is at most, or at least, `bar`.
struct DuelClaim {
  std::string text;  // as it was asked for
  DuelMetric metric = DuelMetric::kServerCpu;
  size_t subject = 0;  // of the contenders
  size_t rival = 0;
  Bar bar;
};

// What goes round at a server that listens at `authority` (HOST:PORT), or, where that is empty, at the contender's own
// target.
using DuelProtocol =
    std::function<std::unique_ptr<Protocol>(const DuelContender& contender, std::string_view authority)>;

// How long is waited for a server, at most.
struct DuelPatience {
  Duration start = std::chrono::seconds(10);   // until it accepts connections
  Duration answer = std::chrono::seconds(10);  // after a slice, until all it was sent is answered
  Duration end = std::chrono::seconds(5);      // from SIGTERM to SIGKILL
  Duration first = std::chrono::seconds(10);   // beyond the budget, for the first restart
  Duration late = std::chrono::seconds(2);     // after the first restart, for what was put off; a 20th of the budget
};

struct DuelOptions {
  LoadOptions load;  // what each contender is given; the target is its own. `load.seed` is the orders' too
  std::vector<DuelContender> contenders;  // the twin among them: with_twin()
  std::vector<DuelClaim> claims;
  // Each plays all rounds of a restart by itself, and its connections are open then alone; else all take turns slice by
  // slice.
  bool in_turn = false;
  Duration slice = std::chrono::milliseconds(20);  // how long one plays before the next
  size_t rounds = 8;                               // that count in each restart; one more goes before
  size_t restarts = 0;                             // 0: as many as `precision` takes
  double precision = 0.02;                         // half of the widest interval that is wanted, as a share
  // No restart begins that would not end in it, and one that does not ends unheard; the first has patience.first more.
  Duration budget = std::chrono::seconds(60);
  size_t server_threads = 1;  // what {threads} says, and how many CPUs the servers share
  bool pin = true;            // servers and generator apart, where the CPUs suffice
  DuelPatience patience;

  // Below this, queueing is not seen: the end of a slice, when nothing is sent any more, is too large a part of it.
  static constexpr Duration kShortestForLatency = std::chrono::milliseconds(500);
  bool shows_latency() const { return slice >= kShortestForLatency; }
  // Of every contender it is known, and each can be started anew.
  bool knows_cpu() const;
  bool restart_all() const;
  // What a pair is judged by, unless a claim says something else.
  DuelMetric headline() const;
};

inline constexpr Duration kShortestSlice = std::chrono::milliseconds(5);
inline constexpr size_t kMostContenders = 128;
inline constexpr size_t kMostDuelRounds = 1000;
inline constexpr size_t kMostRestarts = 1000;

// `contenders` and, behind them, the first once more.
std::vector<DuelContender> with_twin(std::vector<DuelContender> contenders);

// "A/B <= 1.05", "rate: A/B >= 0.97"; the names are among `contenders`, the metric is `usual` where none is named. The
// error is one sentence.
std::expected<DuelClaim, std::string> parse_claim(std::string_view text, const std::vector<DuelContender>& contenders,
                                                  DuelMetric usual);

// Why these options make no sense together, as one sentence; empty when they do.
std::string duel_trouble(const DuelOptions& options);

}  // namespace peal::load
