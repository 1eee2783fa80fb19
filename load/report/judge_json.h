// SPDX-License-Identifier: BSD-3-Clause
// Reads the input and writes the output of the command `peal load judge`. The input is a list of measured ratios; the
// output is a verdict on each of them.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <load/statistics/ratio_judge.h>

namespace peal::load {

// Parses the questions for the command `peal load judge`, for example:
//
//   {"ratios": [{"subject": "new", "rival": "old", "restarts": [0.97, 0.98, null, 0.96]}, ...]}
//
// Each element of "ratios" asks a question about two programs, "subject" and "rival". The question is about the ratio
// of a figure of the subject to the same figure of the rival, for example the cost per message. For the measurement,
// both programs were started several times. The list "restarts" has one value for each start: the ratio that was
// measured after this start. If nothing was measured after a start, the value is null, 0 or a negative number. An
// element may have more fields:
//   "bar", "side"    a claim made before measuring: the ratio is at most ("<=", the default) or at least (">=") "bar"
//   "least", "most"  the ends of a published range that should contain the ratio; one of them may be left out
//   "family"         a name; the p-values of all elements with the same name, or without a name, are adjusted together
//   "twin"           the index, from 0, of another element, which compares one program with itself under two names;
//                    if that element finds a difference or has too few restarts, this element gets no verdict
//   "obstacle"       the reason why no verdict may be given
//   "bounded"        a list of "subject", "rival" or both: the programs whose rate the load generator limited, so that
//                    their true rate may be higher
// If the text is not valid, returns a sentence that says why.
std::expected<std::vector<RatioQuestion>, std::string> read_questions(std::string_view json);
// Returns the answers as JSON in one line with a newline: {"ratios": [...]}. Each answer has these fields, in this
// order: subject, rival, ratio, low, high, restarts, p, p_adjusted, verdict, why, sentence. If a number is not known,
// its field is null.
std::string answers_json(std::span<const RatioQuestion> questions, std::span<const RatioAnswer> answers);

}  // namespace peal::load
