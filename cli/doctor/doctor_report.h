// SPDX-License-Identifier: BSD-3-Clause
// How `peal doctor` says what it found.
#pragma once

#include <string>

#include <cli/doctor/finding.h>

namespace peal::cli {

// Columns, at most 100 characters a line; a command that mends is never broken.
std::string doctor_text(const Findings& findings);
// Schema 1: fields are added, never changed.
std::string doctor_json(const Findings& findings);

}  // namespace peal::cli
