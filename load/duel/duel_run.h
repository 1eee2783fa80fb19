// SPDX-License-Identifier: BSD-3-Clause
// A duel from its first restart to its last. Blocks the calling thread, which has the generator's CPUs meanwhile.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include <load/duel/duel_record.h>
#include <load/duel/server_place.h>

namespace peal::load {

struct DuelProgress {
  const DuelRecord& record;  // what is over
  size_t rounds;             // of the restart that is under way, its warm-up among them
  size_t restarts_wanted;    // as far as is known
  Duration elapsed;
};

using OnDuelProgress = std::function<void(const DuelProgress&)>;

// The restarts whose scatter decides how many there will be.
inline constexpr size_t kPilotRestarts = 8;

// The options make sense (duel_trouble). The error is one sentence. At SIGINT and SIGTERM it ends with what is whole;
// where that is nothing, with an error. `where` says on which machine the servers are started.
std::expected<DuelRecord, std::string> run_duel(const DuelOptions& options, const DuelProtocol& protocol,
                                                const OnDuelProgress& on_progress = {},
                                                const PlaceMaker& where = place_here);

}  // namespace peal::load
