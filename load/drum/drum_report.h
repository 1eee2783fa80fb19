// SPDX-License-Identifier: BSD-3-Clause
// What a drum found, as text for people and as JSON. The contenders of the lab print the same JSON.
#pragma once

#include <span>
#include <string>

#include <load/drum/drum_ring.h>

namespace peal::load {

// Of rounds 2 and up: the mean is the classic figure, median and least are the modern ones.
struct DrumTimes {
  Duration mean{};
  Duration median{};
  Duration least{};
};

struct DrumFigures {
  DrumTimes total;
  DrumTimes loop;
  double waits = 0;            // a round, as a mean
  double events_per_wait = 0;  // 0 without waits
};

// At least two rounds.
DrumFigures drum_figures(std::span<const DrumRound> rounds);
std::string drum_text(const DrumOptions& options, const DrumOutcome& outcome);
std::string drum_json(const DrumOptions& options, const DrumOutcome& outcome);

}  // namespace peal::load
