// SPDX-License-Identifier: BSD-3-Clause
// Gates: rules fixed beforehand that mark a run, each with one plain sentence. Pure functions of what was asked and
// what was measured.
//
// INVALID: the figure does not mean what it says (exit code 3). NOISY: it counts, and is flagged. The names and the
// limits are those of versus/gates.py, which judges the same run with the host's counters beside it.
//
// Messages shed past a deadline were asked for: they are no error, and they are taken from what was offered before the
// achieved share is judged; the sentence says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <load/record/outcome.h>

namespace peal::load {

enum class Verdict : uint8_t { kNoisy, kInvalid };  // the graver, the greater
std::string_view to_string(Verdict verdict);

struct Gate {
  std::string name;
  Verdict verdict;
  std::string sentence;
};

// A gate that could not judge this run, and why.
struct SkippedGate {
  std::string name;
  std::string sentence;
};

inline constexpr double kLeastAchieved = 0.99;
inline constexpr double kFullCore = 0.85;
inline constexpr double kLittleOff = 0.05;
// A wake-up that comes late costs some 0.1 ms, a time slice given to somebody else a few: beyond 2 ms in 1 % of the
// sends the machine, not the server, shapes the latencies.
inline constexpr Duration kSendLagP99 = std::chrono::milliseconds(2);

// Those that failed, gravest first.
std::vector<Gate> judge(const LoadOptions& options, const Outcome& outcome);
std::vector<SkippedGate> skipped_gates(const LoadOptions& options, const Outcome& outcome);
void put_gravest_first(std::vector<Gate>& gates);
bool is_invalid(const std::vector<Gate>& gates);

}  // namespace peal::load
