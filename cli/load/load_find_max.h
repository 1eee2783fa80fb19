// SPDX-License-Identifier: BSD-3-Clause
// find_max(): the search of --find-max for the highest rate that the server can serve. It measures the server at one
// rate after another; the class RateSearch chooses these rates. find_max() prints the result of each measurement, and
// finally the highest rate that was found.
#pragma once

#include <cli/load/load_arguments.h>
#include <cli/output_file.h>

namespace peal::cli {

// Searches for the highest rate that the server can serve (--find-max). Prints the result, and writes a report to
// `json` if --json was given. Returns:
// - kDone if a highest rate was found and confirmed,
// - kInterrupted if SIGINT or SIGTERM ended the search,
// - kFailed otherwise, for example if the server could not be measured or the trials ran out.
//
// If the result cannot be written, returns kFailed in all cases.
int find_max(LoadJob& job, const LoadArguments& words, OutputFile& json);

}  // namespace peal::cli
