// SPDX-License-Identifier: BSD-3-Clause
// The program `peal-model`, which `peal model` executes. The models have a program of their own, so that a build of
// `peal` does not compile all of them.
#include <cli/command.h>
#include <cli/run_program.h>

int main(int argc, char** argv) {
  return peal::cli::run_program(argc, argv, PEAL_VERSION,
                                [](CLI::App& app, int& exit_code) {
                                  peal::cli::add_model_commands(app, exit_code);
                                  peal::cli::refuse_empty_texts(app);
                                },
                                {.about = "runs one echo service in any of many concurrency models",
                                 .file = "peal-model",
                                 .examples = "  peal model list\n"
                                             "  peal model run reactor_epoll --listen 127.0.0.1:9981"});
}
