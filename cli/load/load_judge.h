// SPDX-License-Identifier: BSD-3-Clause
// `peal load judge`: what may be said of ratios that somebody measured. The judge of a duel says it.
#pragma once

#include <cli/command.h>

namespace peal::cli {

void add_judge(CLI::App& load, int& exit_code);

}  // namespace peal::cli
