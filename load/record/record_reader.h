// SPDX-License-Identifier: BSD-3-Clause
// Reads what report_json() wrote.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <load/record/run_record.h>

namespace peal::load {

// Any text may be given. The error is one sentence, without the file's name and without a full stop.
std::expected<RunRecord, std::string> read_record(std::string_view json);

}  // namespace peal::load
