// SPDX-License-Identifier: BSD-3-Clause
// The report of `peal doctor`, as text and as JSON.
#pragma once

#include <string>

#include <cli/doctor/finding.h>
#include <load/report/paint.h>

namespace peal::cli {

// Returns the findings as text, in this order: kBad, kLimits, kUnknown, kOk. If `whole` is true, the findings with kOk
// are explained too, below the headings of their groups. Otherwise only their names are listed. The explanations and
// the list of names are broken into lines of at most 100 characters. A command is never broken, so that users can copy
// the command. The last line counts the findings. `paint` adds the colours.
std::string doctor_text(const Findings& findings, bool whole = false, load::Paint paint = load::Paint());
// Returns the findings as JSON with "schema" 1. A later version may add fields to schema 1, but does not change the
// existing ones.
std::string doctor_json(const Findings& findings);

}  // namespace peal::cli
