// SPDX-License-Identifier: BSD-3-Clause
// run_program(): the main() that `peal`, `peal-model` and `peal-rpc` share.
#pragma once

#include <cli/command.h>

namespace peal::cli {

struct ProgramName {
  const char* name = "peal";
  const char* about =
      "peal: new projects, test servers, a load generator and checks of the machine, for the peal network library";
  const char* file = "peal";  // name of the executable file; peal-model has another `name`: "peal"
  const char* examples =      // a line each
      "  peal new chat-server\n"
      "  peal serve http --listen 127.0.0.1:8080 --root .\n"
      "  peal load http http://127.0.0.1:8080/ --duration 10s\n"
      "  peal load http --help";
};

// Runs the command that the command line names. Returns the exit code of the command, or kDone after --help and
// --version. Returns kCalledWrongly if the command line is wrong, and kFailed if the text of --help or --version cannot
// be written. `add` adds the program's own commands. The commands `completion` and `man` are added to every program.
// Opens /dev/null for each standard stream that is closed. Otherwise a socket could get the fd of stdout or stderr, and
// printed text would be sent to the peer of that socket.
int run_program(int argc, char** argv, const char* version, void (*add)(CLI::App& app, int& exit_code),
                const ProgramName& program = {});

}  // namespace peal::cli
