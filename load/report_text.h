// SPDX-License-Identifier: BSD-3-Clause
// What a person reads: the report after a run, and the live line while it lasts. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <load/gates.h>
#include <load/load_run.h>
#include <load/outcome.h>

namespace peal::load {

// Several lines, each ended.
std::string report_text(std::string_view experiment, const LoadOptions& options, const Outcome& outcome,
                        const std::vector<Gate>& gates);
// One line, not ended, of at most 100 columns.
std::string live_line(const LoadOptions& options, const Progress& progress);

// "850 ns", "12.3 us", "4.56 ms", "1.2 s": three significant digits.
std::string human_time(double ns);
// "1234567" as "1,234,567".
std::string human_count(uint64_t count);

}  // namespace peal::load
