// SPDX-License-Identifier: BSD-3-Clause
// One restart of a duel: the duel starts all its servers again, and the contenders play their rounds. Usually the
// contenders alternate, and the connections of all of them are open. With DuelOptions::in_turn, one contender after
// another plays all its rounds, in a shuffled order. Then only the connections of this contender are open.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include <load/duel/duel_bout.h>

namespace peal::load {

using CrewMaker = std::function<std::unique_ptr<ServerCrew>()>;

// Plays one restart: starts the servers and plays all rounds. Adds the measured slices and totals to `record`. If the
// duel is stopped during the restart (DuelLoop::stopped()), adds no slices and no totals to `record`. A fault that was
// found before the stop (DuelSideRecord::fault) stays in `record`. Each error is one sentence.
//
// If a contender cannot play, for example because its server does not start, DuelOptions::in_turn decides what happens:
// - false: play_restart() returns an error.
// - true: the contender is left out of this restart and of all later ones. Its DuelSideRecord::fault says why. If no
//   contender is left, the first restart returns an error, and a later restart adds no slices and no totals.
std::expected<void, std::string> play_restart(DuelLoop& loop, const DuelProtocol& protocol, const CrewMaker& crew,
                                              std::mt19937_64& random, DuelRecord& record, const OnRound& on_round);

}  // namespace peal::load
