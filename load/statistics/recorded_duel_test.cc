// SPDX-License-Identifier: BSD-3-Clause
// Judges recorded duels, which have real noise (tests/goldens/duel). All contenders are the same program. Each
// contender is the rival once. Then the next contender is its twin, and the others are compared with the rival.
// Expected: hardly any pair is judged different.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <load/statistics/ratio_judge.h>
#include <load/statistics/significance.h>

namespace peal::load {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(PEAL_SOURCE_DIR) / "tests/goldens/duel";
constexpr size_t kRestarts = 8;  // restarts of a duel; no page of the lab uses fewer

// The cost of each contender, by restart and round.
using Recorded = std::vector<std::vector<std::vector<double>>>;

Recorded read_recorded(const std::filesystem::path& path) {
  Recorded recorded;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    size_t restart = 0;
    size_t round = 0;
    words >> restart >> round;
    if (recorded.size() <= restart) recorded.resize(restart + 1);
    std::vector<double> costs;
    for (double cost = 0; words >> cost;) costs.push_back(cost);
    recorded[restart].push_back(std::move(costs));
  }
  return recorded;
}

std::vector<double> logs_of(const Recorded& recorded, size_t first, size_t subject, size_t rival) {
  std::vector<double> values;
  for (size_t restart = first; restart < first + kRestarts; ++restart) {
    // A slice has a fixed length. The cheaper a message is, the more messages fit into it.
    double of_subject = 0;
    double of_rival = 0;
    for (const auto& costs : recorded[restart]) {
      of_subject += 1 / costs[subject];
      of_rival += 1 / costs[rival];
    }
    values.push_back(restart_value(of_rival, of_subject));
  }
  return values;
}

struct Claims {
  int duels = 0;
  int told_apart = 0;  // duels that judged a pair less or more
  int twins_apart = 0;
  int intervals = 0;
  int held = 0;  // intervals that contain 1
};

void judge(const Recorded& recorded, size_t first, size_t rival, Claims& claims) {
  const size_t contenders = recorded.front().front().size();
  const size_t twin = (rival + 1) % contenders;
  const bool differs = differs_from_itself(RatioEstimate(logs_of(recorded, first, twin, rival)));
  std::vector<RatioEstimate> pairs;
  std::vector<double> p;
  for (size_t subject = 0; subject < contenders; ++subject) {
    if (subject == rival || subject == twin) continue;
    pairs.emplace_back(logs_of(recorded, first, subject, rival));
    p.push_back(pairs.back().p(1));
    ++claims.intervals;
    claims.held += pairs.back().holds(1) ? 1 : 0;
  }
  p = holm(p);
  bool apart = false;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const RatioVerdict verdict = judge_pair(pairs[i], p[i], differs);
    apart |= verdict == RatioVerdict::kLess || verdict == RatioVerdict::kMore;
  }
  ++claims.duels;
  claims.told_apart += apart ? 1 : 0;
  claims.twins_apart += differs ? 1 : 0;
}

TEST(RecordedDuels, a_program_is_rarely_judged_different_from_itself) {
  Claims claims;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const Recorded recorded = read_recorded(entry.path());
    ASSERT_GE(recorded.size(), 2 * kRestarts) << entry.path();
    for (size_t first = 0; first + kRestarts <= recorded.size(); first += kRestarts) {
      for (size_t rival = 0; rival < recorded.front().front().size(); ++rival) judge(recorded, first, rival, claims);
    }
  }
  ASSERT_GE(claims.duels, 70);
  EXPECT_LE(claims.told_apart, claims.duels * 5 / 100);
  EXPECT_LE(claims.twins_apart, claims.duels * 5 / 100);
  EXPECT_GE(claims.held, claims.intervals * 93 / 100);
  RecordProperty("duels", claims.duels);
  RecordProperty("told_apart", claims.told_apart);
}

}  // namespace
}  // namespace peal::load
