// SPDX-License-Identifier: BSD-3-Clause
// One restart of a duel: every contender's server is started anew. All play in one bout, slice by slice; or, in turn,
// each has a bout of its own, in a shuffled order, and the connections of one contender alone are open at a time.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include <load/duel/duel_bout.h>

namespace peal::load {

using CrewMaker = std::function<std::unique_ptr<ServerCrew>()>;

// Adds the slices and their totals to `record`. The error is one sentence. In turn, a contender that cannot play is
// left out from then on (DuelSideRecord::fault). If nobody is left, the first restart is an error, and a later one
// adds nothing. If the duel was stopped (DuelLoop::stopped), nothing is added.
std::expected<void, std::string> play_restart(DuelLoop& loop, const DuelProtocol& protocol, const CrewMaker& crew,
                                              std::mt19937_64& random, DuelRecord& record, const OnRound& on_round);

}  // namespace peal::load
