// SPDX-License-Identifier: BSD-3-Clause
// A duel as JSON: what was asked for, every slice, every ratio, every verdict. Pure functions.
#pragma once

#include <string>

#include <load/duel/duel_judge.h>
#include <load/duel/duel_record.h>

namespace peal::load {

// One document, with its last newline.
std::string duel_json(const DuelRecord& record, const DuelJudgement& judgement);

}  // namespace peal::load
