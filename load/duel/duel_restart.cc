// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_restart.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <load/duel/duel_side.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

std::vector<size_t> shuffled_players(const DuelRecord& record, std::mt19937_64& random) {
  std::vector<size_t> players;
  for (size_t i = 0; i < record.sides.size(); ++i) {
    if (record.sides[i].fault.empty()) players.push_back(i);
  }
  std::ranges::shuffle(players, random);
  return players;
}

// Divides the contenders in `players` into bouts, which are played one after another. A bout is a group of contenders
// whose connections are open at the same time. `players` contains indices of contenders. With `in_turn`, each contender
// gets a bout of its own. Otherwise all contenders are in one bout.
std::vector<std::vector<size_t>> bouts_of(const std::vector<size_t>& players, bool in_turn) {
  if (!in_turn) return {players};
  std::vector<std::vector<size_t>> alone;
  alone.reserve(players.size());
  for (const size_t player : players) alone.push_back({player});
  return alone;
}

void keep(PlayedRestart& played, DuelRecord& record) {
  for (size_t i = 0; i < record.sides.size(); ++i) {
    if (record.sides[i].fault.empty()) add_restart(played.totals[i], record.sides[i]);
  }
  for (SliceRecord& slice : played.slices) {
    if (slice.round == 0 || !record.sides[slice.contender].fault.empty()) continue;
    --slice.round;
    record.slices.push_back(slice);
  }
  ++record.restarts;
}

}  // namespace

std::expected<void, std::string> play_restart(DuelLoop& loop, const DuelProtocol& protocol, const CrewMaker& crew,
                                              std::mt19937_64& random, DuelRecord& record, const OnRound& on_round) {
  const DuelOptions& options = record.options;
  PEAL_ASSERT(record.sides.size() == options.contenders.size(), "{} sides of {} contenders", record.sides.size(),
              options.contenders.size());
  PlayedRestart played{.slices = {}, .totals = std::vector<DuelSideRecord>(record.sides.size())};
  const std::vector<size_t> players = shuffled_players(record, random);
  size_t left_out = 0;
  for (const std::vector<size_t>& bout : bouts_of(players, options.in_turn)) {
    std::optional<std::string> trouble = play_bout(loop, protocol, crew(), bout, random, record, played, on_round);
    if (loop.stopped()) return {};
    if (!trouble) continue;
    if (!options.in_turn || (++left_out == players.size() && record.restarts == 0)) {
      return std::unexpected(std::move(*trouble));
    }
    record.sides[bout.front()].fault = std::move(*trouble);
  }
  if (left_out == players.size()) return {};
  keep(played, record);
  return {};
}

}  // namespace peal::load
