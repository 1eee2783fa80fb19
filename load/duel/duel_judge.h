// SPDX-License-Identifier: BSD-3-Clause
// Judges a duel. For each pair of contenders, computes one value per restart from the slices, then the confidence
// interval of the ratio, and then a verdict. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <load/duel/duel_record.h>
#include <load/statistics/ratio_estimate.h>
#include <load/statistics/ratio_judge.h>

namespace peal::load {

// The comparison of two contenders by one metric. It holds the ratio subject / rival and the verdict about this ratio.
// If the user made a claim about the two, it also holds the claim.
struct DuelPair {
  DuelMetric metric;
  size_t subject;
  size_t rival;
  std::vector<double> logs;  // one per restart: ln(subject / rival); NaN if the restart gives no value
  RatioEstimate estimate;
  // The p-value of a hypothesis about the ratio, adjusted by Holm's method for a number of comparisons. Both depend on
  // the kind of the pair:
  // - A pair with a claim: the hypothesis is that the ratio equals the limit in the claim. The number of comparisons is
  //   the number of claims.
  // - The first contender and its twin: the hypothesis is that the ratio is 1. The number of comparisons is the number
  //   of twins, which is usually 1.
  // - Any other pair: the hypothesis is that the ratio is 1. The number of comparisons is the number of all contenders
  //   that are compared with the first one, without the twin.
  double adjusted_p = 1;
  RatioVerdict verdict = RatioVerdict::kCannotTell;
  std::string why;  // why the verdict is kCannotTell; otherwise empty
  // True if at least one of the two servers was already running before the duel. The duel does not restart a server
  // that was already running, so the verdict is only about its running process. Another process of the same program may
  // behave differently.
  bool of_processes = false;
  std::optional<DuelClaim> claim = {};
};

// The measured values of one contender. Each value is a median over the restarts: the judge computes one number for
// each restart, from all rounds of that restart together, and takes the median of these numbers.
struct DuelFigures {
  std::optional<double> server_cpu_ns;  // per message; unset if it is not known
  double client_cpu_ns = 0;             // per message, without spinning
  double messages_per_s = 0;
  double client_share = 0;             // the busy share of the generator's threads
  std::optional<double> server_share;  // the used share of the CPUs that the server may use
  // True if the load generator limited the rate: its threads were almost fully busy, and the server was not. A server
  // whose CPU time is not known counts as not busy. The server could perhaps reach a higher rate than the measured one.
  bool bounded = false;
};

// A warning that a condition of a fair duel was not met. For example, messages have failed.
struct DuelGate {
  // True: the measured values of the contender are wrong, so no verdict about the contender is given. False: the
  // measurement was only disturbed, so verdicts are still given. If `contender` is unset, `invalid` is false.
  bool invalid;
  std::string sentence;
  std::optional<size_t> contender = {};  // the contender concerned; unset: the whole duel
};

struct DuelJudgement {
  std::vector<DuelFigures> figures;  // one per contender
  std::vector<DuelPair> twins;       // the twin against the first contender, by each metric
  std::vector<DuelPair> pairs;       // each other contender against the first, by each metric
  std::vector<DuelPair> claims;
  std::vector<DuelGate> gates;
};

DuelJudgement judge_duel(const DuelRecord& record);

// Returns ln(a / b) for each restart. a is the value of `metric` for the contender `subject` in that restart, and b is
// the value for the contender `rival`. The result is NaN for a restart in which a or b is missing.
std::vector<double> restart_logs(const DuelRecord& record, DuelMetric metric, size_t subject, size_t rival);

// Two contenders and a metric. The duel needs the ratio of the two contenders as precisely as DuelOptions::precision
// says. declared_pairs() returns all these pairs:
// - If the user made claims, each claim gives one pair.
// - If the user made no claims, each contender except the first one is paired with the first one, and the metric is
//   DuelOptions::headline(). A twin gives a pair only if the duel has no third contender, because the twin only serves
//   to check the measurement.
struct DeclaredPair {
  DuelMetric metric;
  size_t subject;
  size_t rival;
};
std::vector<DeclaredPair> declared_pairs(const DuelOptions& options);

// Estimates how many restarts the duel needs in all. The ratio of every declared pair must become as precise as
// DuelOptions::precision says. The estimate is based on the restarts in `record`. Returns at most kMostRestarts.
size_t restarts_wanted(const DuelRecord& record);

}  // namespace peal::load
