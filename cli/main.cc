// SPDX-License-Identifier: BSD-3-Clause
// The main() of the program `peal`. It contains all commands except `model`: `peal model` executes another program,
// `peal-model`, which lies in the same folder.
#include <cli/model_program.h>
#include <cli/run_program.h>

int main(int argc, char** argv) {
  return peal::cli::run_program(argc, argv, PEAL_VERSION, [](CLI::App& app, int& exit_code) {
    peal::cli::add_commands(app, exit_code);
    peal::cli::add_model_program(app, exit_code);
  });
}
