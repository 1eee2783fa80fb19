// SPDX-License-Identifier: BSD-3-Clause
// The command `peal model` of the program `peal`. It executes the program `peal-model`, which lies in the same folder.
#pragma once

#include <string>
#include <vector>

#include <cli/command.h>

namespace peal::cli {

// Adds the command `model` to `app`. Its callback replaces this program with `peal-model` in the same process (execv),
// and passes on the words that follow `model`. The process keeps its pid. The callback returns only if `peal-model` is
// missing or cannot be executed.
void add_model_program(CLI::App& app, int& exit_code);
// Replaces this program with `peal-model` in the same process (execv). words[0] is the name of the program, and the
// other words are its arguments. Returns only if that fails: it then prints a sentence on stderr and returns the exit
// code.
int execute_model_program(std::vector<std::string> words);

}  // namespace peal::cli
