// SPDX-License-Identifier: BSD-3-Clause
// What a person reads of a duel: while it runs a line, at its end a page. Pure functions.
#pragma once

#include <cstddef>
#include <string>

#include <load/duel/duel_judge.h>
#include <load/duel/duel_record.h>
#include <load/duel/duel_run.h>

namespace peal::load {

// Several lines, each ended.
std::string duel_text(const DuelRecord& record, const DuelJudgement& judgement);

// One line, not ended, of at most `columns`: how far the duel is, and what its declared pairs say by now.
std::string duel_line(const DuelProgress& progress, size_t columns);

}  // namespace peal::load
