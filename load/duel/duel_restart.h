// SPDX-License-Identifier: BSD-3-Clause
// One restart of a duel: every contender's server started anew (one that runs already is connected to anew), its
// connections opened and warmed, then the rounds: in each every contender plays one slice, in a shuffled order, while
// the others are silent.
//
//   round   | B      | C      | A      | A      | C      | B      |
//   B's CPU |<------------------------------------------>|          from one slice's start to that server's next
//
// What a server puts off until its slice is over is thus charged to that slice, and not to nobody.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <load/duel/duel_loop.h>
#include <load/duel/duel_record.h>
#include <load/duel/server_crew.h>

namespace peal::load {

// Told after each round: how many of the restart are over.
using OnRound = std::function<void(size_t rounds)>;

// Adds the slices and what they sum up to to `record`. The error is one sentence: a server cannot be started, ended by
// itself, or does not answer. Stopped (DuelLoop::stopped), it adds nothing.
std::expected<void, std::string> play_restart(DuelLoop& loop, const DuelProtocol& protocol,
                                              std::unique_ptr<ServerCrew> crew, std::mt19937_64& random,
                                              DuelRecord& record, const OnRound& on_round);

}  // namespace peal::load
