// SPDX-License-Identifier: BSD-3-Clause
// `peal load agent`: starts servers for a duel that another machine plays.
#pragma once

#include <cli/command.h>

namespace peal::cli {

void add_agent(CLI::App& load, int& exit_code);

}  // namespace peal::cli
