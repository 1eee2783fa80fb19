// SPDX-License-Identifier: BSD-3-Clause
// A bout of a duel: the servers of its players are started (one that runs already is connected to anew), their
// connections opened and warmed, then the rounds: in each every player plays one slice, in a shuffled order, while the
// others are silent. At its end the connections are closed and the servers ended.
//
//   round   | B      | C      | A      | A      | C      | B      |
//   B's CPU |<------------------------------------------>|          from one slice's start to that server's next
//
// What a server puts off until its slice is over is thus charged to that slice, and not to nobody.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <load/duel/duel_loop.h>
#include <load/duel/duel_record.h>
#include <load/duel/server_crew.h>

namespace peal::load {

// Told after each round: how many of the bout are over.
using OnRound = std::function<void(size_t rounds)>;

// What the bouts of one restart add up to.
struct PlayedRestart {
  std::vector<SliceRecord> slices;     // the warm-up's among them, as round 0
  std::vector<DuelSideRecord> totals;  // a contender each
};

// `players` are indices of contenders, in the order in which they start. Adds to `played`; stopped
// (DuelLoop::stopped), what it adds is not whole. Returns why it could not be played, as one sentence: a server cannot
// be started, ended by itself, or does not answer.
std::optional<std::string> play_bout(DuelLoop& loop, const DuelProtocol& protocol, std::unique_ptr<ServerCrew> crew,
                                     std::vector<size_t> players, std::mt19937_64& random, DuelRecord& record,
                                     PlayedRestart& played, const OnRound& on_round);

}  // namespace peal::load
