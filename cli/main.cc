// SPDX-License-Identifier: BSD-3-Clause
// `peal`: every command but the models, which are a program of their own beside it.
#include <cli/model_program.h>
#include <cli/run_program.h>

int main(int argc, char** argv) {
  return peal::cli::run_program(argc, argv, PEAL_VERSION, [](CLI::App& app, int& exit_code) {
    peal::cli::add_commands(app, exit_code);
    peal::cli::add_model_program(app, exit_code);
  });
}
