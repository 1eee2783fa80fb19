// SPDX-License-Identifier: BSD-3-Clause
// `--find-max`: runs one trial after the other at the rates a RateSearch asks for, says what became of each, and the
// answer.
#pragma once

#include <cli/load/load_arguments.h>
#include <cli/output_file.h>

namespace peal::cli {

// Writes the report to `json`, if that is wanted. Returns the exit code: 0 an answer, 1 none or a trial that could not
// run.
int find_max(LoadJob& job, const LoadArguments& words, OutputFile& json);

}  // namespace peal::cli
