// SPDX-License-Identifier: BSD-3-Clause
// What a duel's slices allow one to say: a value a restart for each pair, its interval, its verdict. Pure functions.
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

// subject / rival by one metric, and what was claimed of it, if anything was.
struct DuelPair {
  DuelMetric metric;
  size_t subject;
  size_t rival;
  std::vector<double> logs;  // a restart each; not a number where it has no value
  RatioEstimate estimate;
  double adjusted_p = 1;  // of "the ratio is 1", or the claim's bar: Holm, over the pairs of a metric, or the claims
  RatioVerdict verdict = RatioVerdict::kCannotTell;
  std::string why;  // it cannot be told
  // One of the two ran already: this is about these processes, not about the programs.
  bool of_processes = false;
  std::optional<DuelClaim> claim = {};
};

// One contender's figures: medians over the restarts, of all rounds of each together.
struct DuelFigures {
  std::optional<double> server_cpu_ns;  // a message
  double client_cpu_ns = 0;             // a message, without spinning
  double messages_per_s = 0;
  double client_share = 0;             // of the generator's threads
  std::optional<double> server_share;  // of the CPUs it may use
  bool bounded = false;                // the generator's threads were full and the server was not: its rate is higher
};

struct DuelGate {
  bool invalid;  // the figures do not mean what they say, and nothing is claimed of them; else they were disturbed
  std::string sentence;
  std::optional<size_t> contender = {};  // whose they are
};

struct DuelJudgement {
  std::vector<DuelFigures> figures;  // a contender each
  std::vector<DuelPair> twins;       // the same program against itself, by each metric
  std::vector<DuelPair> pairs;       // everybody against the first, by each metric
  std::vector<DuelPair> claims;
  std::vector<DuelGate> gates;
};

DuelJudgement judge_duel(const DuelRecord& record);

// The values of a pair, a restart each.
std::vector<double> restart_logs(const DuelRecord& record, DuelMetric metric, size_t subject, size_t rival);

// What the precision is asked of: the claims' pairs; without claims everybody against the first, by the headline.
struct DeclaredPair {
  DuelMetric metric;
  size_t subject;
  size_t rival;
};
std::vector<DeclaredPair> declared_pairs(const DuelOptions& options);

// How many restarts, after those of `record`, make every declared pair as narrow as asked.
size_t restarts_wanted(const DuelRecord& record);

}  // namespace peal::load
