// SPDX-License-Identifier: BSD-3-Clause
// Runs a duel from its first restart to its last. Meanwhile it blocks the calling thread, and pins that thread to the
// generator's CPUs.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include <load/duel/duel_record.h>
#include <load/duel/server_place.h>

namespace peal::load {

struct DuelProgress {
  const DuelRecord& record;  // the restarts that are over
  size_t rounds;             // rounds completed in this restart (with in_turn: by this contender), without the warm-up
  size_t restarts_wanted;    // restarts to be played in all, as far as this is known yet
  Duration elapsed;
};

using OnDuelProgress = std::function<void(const DuelProgress&)>;

// The number of restarts in the pilot, which is the first part of the duel. From the scatter of the pilot's results,
// the duel computes how many restarts it needs in all. If the user has given the number of restarts, there is no pilot.
inline constexpr size_t kPilotRestarts = 8;

// run_duel() returns this error if SIGINT or SIGTERM ends the duel before its first restart is complete.
inline constexpr std::string_view kDuelInterruptedEarly = "interrupted before the first restart was over";

// Runs a duel and returns its measurements. `options` must be valid: duel_trouble(options) must return an empty text.
// `where` decides on which machine the servers run. Each error is one sentence.
//
// If SIGINT or SIGTERM arrives, the duel ends early, and the result contains only the complete restarts. If no restart
// is complete, run_duel() returns the error kDuelInterruptedEarly.
std::expected<DuelRecord, std::string> run_duel(const DuelOptions& options, const DuelProtocol& protocol,
                                                const OnDuelProgress& on_progress = {},
                                                const PlaceMaker& where = place_here);

}  // namespace peal::load
