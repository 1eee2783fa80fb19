// SPDX-License-Identifier: BSD-3-Clause
// What `peal load judge` reads and writes: the ratios that somebody measured, and what may be said of them.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <load/statistics/ratio_judge.h>

namespace peal::load {

// {"ratios": [{"subject": "new", "rival": "old", "restarts": [0.97, 0.98, null, 0.96]}, ...]}: a value a restart, null
// or no positive number where it has none. A ratio may have besides
//   "bar", "side"    a claim made beforehand: at most ("<=", the usual) or at least (">=") so much
//   "least", "most"  a range in which it was published to lie; either may be left out
//   "family"         those of one name are adjusted together; all are one family where none has a name
//   "twin"           which of the ratios, from 0, is about the same program under two names
//   "obstacle"       why nothing may be said of it
//   "bounded"        who of "subject" and "rival" is faster than its rate, for the generator was full
// The error is one sentence.
std::expected<std::vector<RatioQuestion>, std::string> read_questions(std::string_view json);
// {"ratios": [...]}, in order: subject, rival, ratio, low, high, restarts, p, p_adjusted, verdict, why, sentence; null
// is what is not known. One line, ended.
std::string answers_json(std::span<const RatioQuestion> questions, std::span<const RatioAnswer> answers);

}  // namespace peal::load
