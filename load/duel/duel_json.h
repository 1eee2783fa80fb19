// SPDX-License-Identifier: BSD-3-Clause
// Writes a duel as JSON: the options, every slice, every ratio and every verdict. Pure functions.
#pragma once

#include <string>

#include <load/duel/duel_judge.h>
#include <load/duel/duel_record.h>

namespace peal::load {

// Returns the duel and its verdicts as one JSON document. The text ends with a newline.
std::string duel_json(const DuelRecord& record, const DuelJudgement& judgement);

}  // namespace peal::load
