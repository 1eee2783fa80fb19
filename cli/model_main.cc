// SPDX-License-Identifier: BSD-3-Clause
// `peal-model`, which `peal model` executes: a program of its own, so that a build of `peal` need not wait for it.
#include <cli/command.h>
#include <cli/run_program.h>

int main(int argc, char** argv) {
  return peal::cli::run_program(argc, argv, PEAL_VERSION, [](CLI::App& app, int& exit_code) {
    peal::cli::add_model_commands(app, exit_code);
    peal::cli::refuse_empty_texts(app);
  });
}
