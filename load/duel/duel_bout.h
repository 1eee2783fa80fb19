// SPDX-License-Identifier: BSD-3-Clause
// A bout of a duel: the part of a restart in which a group of contenders, the players, have open connections.
//
// play_bout() does this:
// 1. It starts the servers of the players. A server that is already running only gets new connections.
// 2. It opens the connections.
// 3. It plays the rounds. A round consists of slices, one for each player, in a shuffled order. During a slice, only
//    its player sends messages. Round 0 is the warm-up.
// 4. It closes the connections and ends the servers.
//
//   round   | B      | C      | A      | A      | C      | B      |
//   B's CPU |<------------------------------------------>|          from one slice's start to that server's next
//
// A server may defer work until its slice is over. The CPU time of that work is still charged to the slice. The slice's
// CPU account ends only when the next slice of the same server begins.
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

// A callback that play_bout() calls after each round. `rounds` is the number of measured rounds that are over. The
// warm-up round is not a measured round, so the first call, after the warm-up round, passes 0.
using OnRound = std::function<void(size_t rounds)>;

// The measurements of one restart. In a restart, the duel starts its servers again, and the load generator sends
// messages to every contender.
struct PlayedRestart {
  std::vector<SliceRecord> slices;     // including the warm-up, which is round 0
  std::vector<DuelSideRecord> totals;  // one per contender
};

// Plays one bout. A bout is the part of a restart in which the contenders in `players` have open connections. `players`
// holds indices of contenders, in the order in which their servers start. Adds to `played` the slices of all rounds,
// including the warm-up, and the totals of the players without the warm-up.
//
// If something fails, returns an error of one sentence, for example that a server did not start, ended by itself, or
// did not answer. Otherwise returns nothing. A stop of the duel is no error, but ends the bout early, so that `played`
// is incomplete. So the caller must check DuelLoop::stopped() after each bout.
std::optional<std::string> play_bout(DuelLoop& loop, const DuelProtocol& protocol, std::unique_ptr<ServerCrew> crew,
                                     std::vector<size_t> players, std::mt19937_64& random, DuelRecord& record,
                                     PlayedRestart& played, const OnRound& on_round);

}  // namespace peal::load
