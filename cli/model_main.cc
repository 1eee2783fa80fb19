// SPDX-License-Identifier: BSD-3-Clause
// `peal-model`, which `peal model` becomes: 71 models that a build of the other commands need not wait for.
#include <cli/command.h>
#include <cli/run_program.h>

int main(int argc, char** argv) {
  return peal::cli::run_program(argc, argv, PEAL_VERSION, [](CLI::App& app, int& exit_code) {
    peal::cli::add_model_commands(app, exit_code);
    peal::cli::refuse_empty_texts(app);
  });
}
