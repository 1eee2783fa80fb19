// SPDX-License-Identifier: BSD-3-Clause
// Gates: fixed checks that tell whether the figures of a run can be trusted. Each check that fails becomes a Gate with
// one plain sentence. The checks depend only on the options and the Outcome of the run.
//
// There are two verdicts. INVALID: the figures do not mean what they say, and the program ends with exit code 3. NOISY:
// the figures count, but are marked as less reliable. versus/gates.py uses the same verdicts for further checks, which
// use the counters of the host.
//
// A message is shed, which means that it is never sent, if its deadline passes before a connection is free. The user
// has asked for that by setting a deadline, so shed messages are not errors. They are subtracted from the offered
// messages before the achieved rate is checked. The sentence of that check says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <load/record/outcome.h>

namespace peal::load {

enum class Verdict : uint8_t { kNoisy, kInvalid };  // a more serious verdict has a greater value
std::string_view to_string(Verdict verdict);

struct Gate {
  std::string name;
  Verdict verdict;
  std::string sentence;
};

// A check of the run's figures that could not be made. `sentence` says why the check could not be made.
struct SkippedGate {
  std::string name;
  std::string sentence;
};

inline constexpr double kLeastAchieved = 0.99;
inline constexpr double kLeastOfDuration = 0.99;  // a run whose connections failed is said to end early below this part
inline constexpr double kFullCore = 0.85;
inline constexpr double kLittleOff = 0.05;
// The limit for late sending: 99 % of all messages must be sent at most this long after their scheduled time. If more
// than 1 % of the messages are sent later, the run gets the verdict NOISY. Normally, the system wakes a thread only
// about 0.1 ms late, which is far below the limit. If another program uses the core, the thread may wake several ms
// late. The measured latencies then contain this delay, which the server has not caused.
inline constexpr Duration kSendLagP99 = std::chrono::milliseconds(2);

// Checks whether the figures of a run can be trusted. Returns a Gate for each check that failed. Gates with the verdict
// INVALID come first.
std::vector<Gate> judge(const LoadOptions& options, const Outcome& outcome);
// Returns the checks that judge() cannot make for this run. Each SkippedGate says why its check cannot be made.
std::vector<SkippedGate> skipped_gates(const LoadOptions& options, const Outcome& outcome);
void put_gravest_first(std::vector<Gate>& gates);
bool is_invalid(const std::vector<Gate>& gates);

}  // namespace peal::load
