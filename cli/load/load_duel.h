// SPDX-License-Identifier: BSD-3-Clause
// `peal load duel`.
#pragma once

#include <CLI/CLI.hpp>

namespace peal::cli {

void add_duel(CLI::App& load, int& exit_code);

}  // namespace peal::cli
