// SPDX-License-Identifier: BSD-3-Clause
// `peal load merge` and `peal load compare`: what is made of the JSON of several runs.
#pragma once

#include <cli/command.h>

namespace peal::cli {

void add_merge(CLI::App& load, int& exit_code);
void add_compare(CLI::App& load, int& exit_code);

}  // namespace peal::cli
