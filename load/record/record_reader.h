// SPDX-License-Identifier: BSD-3-Clause
// Reads the JSON report of a run, which report_json() has written.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <load/record/run_record.h>

namespace peal::load {

// Parses the JSON report of a run. The text may come from an untrusted source. If the text is not a valid report,
// returns a sentence that says why. This sentence has no full stop. It does not name a file, so the caller puts the
// name before it.
std::expected<RunRecord, std::string> read_record(std::string_view json);

}  // namespace peal::load
