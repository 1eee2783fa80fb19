// SPDX-License-Identifier: BSD-3-Clause
// Writes a duel for people: one line while it runs, and a page at its end. Pure functions.
#pragma once

#include <cstddef>
#include <string>

#include <load/duel/duel_judge.h>
#include <load/duel/duel_record.h>
#include <load/duel/duel_run.h>

namespace peal::load {

// Returns the report about a duel, as text of several lines. Each line ends with a newline.
std::string duel_text(const DuelRecord& record, const DuelJudgement& judgement);

// Returns the progress of a running duel as one line of at most `columns` characters, without a newline. The line says
// which restart and round the duel has reached. After the first restart, it also shows the ratios measured so far.
std::string duel_line(const DuelProgress& progress, size_t columns);

}  // namespace peal::load
