// SPDX-License-Identifier: BSD-3-Clause
// What the main() of every program of peal does.
#pragma once

#include <cli/command.h>

namespace peal::cli {

struct ProgramName {
  const char* name = "peal";
  const char* about = "peal: servers, a load generator and the lab of the peal network library";
};

// Carries out the command line with the commands that `add` adds to the program, and returns the exit code: kDone also
// for --help and --version. A standard stream that is closed is opened on /dev/null first.
int run_program(int argc, char** argv, const char* version, void (*add)(CLI::App& app, int& exit_code),
                const ProgramName& program = {});

}  // namespace peal::cli
