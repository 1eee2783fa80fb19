// SPDX-License-Identifier: BSD-3-Clause
#include <cli/run_program.h>

#include <fcntl.h>
#include <unistd.h>

#include <sstream>

#include <fmt/core.h>

namespace peal::cli {
namespace {

// A standard stream that is closed would be given to the next socket, and what is printed would go to a server.
void fill_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd > STDERR_FILENO) ::close(fd);
}

// What --help and --version print. CLI11 would print it itself, and not look whether it could.
int say_help(const CLI::App& app, const CLI::ParseError& asked) {
  std::ostringstream text;
  app.exit(asked, text, text);
  if (say(stdout, text.view())) return kDone;
  return complain(kFailed, "what was asked for could not be written to stdout");
}

}  // namespace

int run_program(int argc, char** argv, const char* version, void (*add)(CLI::App& app, int& exit_code),
                const ProgramName& program) {
  fill_standard_streams();
  CLI::App app{program.about, program.name};
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  int exit_code = kDone;
  add(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return say_help(app, error);
    return complain(kCalledWrongly, fmt::format("{} (see --help)", error.what()));
  }
  return exit_code;
}

}  // namespace peal::cli
