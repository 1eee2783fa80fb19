// SPDX-License-Identifier: BSD-3-Clause
// `peal model`, as the program `peal` knows it: it becomes the program `peal-model` that lies beside it.
#pragma once

#include <cli/command.h>

namespace peal::cli {

// On success the callback does not return: this process executes `peal-model` with the words that follow `model`. The
// process keeps its pid and its descriptors. Fails where that program is missing or cannot be executed.
void add_model_program(CLI::App& app, int& exit_code);

}  // namespace peal::cli
