// SPDX-License-Identifier: BSD-3-Clause
// Writes the results of the drum, a benchmark of event loops (drum_ring.h), as text and as JSON. The drums for other
// libraries in versus/contenders/drum print the same JSON.
#pragma once

#include <span>
#include <string>

#include <load/drum/drum_ring.h>

namespace peal::load {

// Statistics of the durations of all rounds except the first. The first round is left out, because its work is
// different. The first round registers the pairs for the first time, and later rounds register them again. The mean is
// the traditional statistic of this benchmark. The median and the minimum are less sensitive to noise.
struct DrumTimes {
  Duration mean{};
  Duration median{};
  Duration least{};
};

struct DrumFigures {
  DrumTimes total;
  DrumTimes loop;
  double waits = 0;            // how often the loop waited in the kernel; mean per round
  double events_per_wait = 0;  // 0 if there were no waits
};

// Computes the statistics of all rounds except the first. Asserts that there are at least two rounds.
DrumFigures drum_figures(std::span<const DrumRound> rounds);
std::string drum_text(const DrumOptions& options, const DrumOutcome& outcome);
std::string drum_json(const DrumOptions& options, const DrumOutcome& outcome);

}  // namespace peal::load
