// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <unistd.h>

#include <sstream>

#include <fmt/core.h>

#include <cli/command.h>

// A standard stream that is closed would be given to the next socket, and what is printed would go to a server.
static void fill_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd > STDERR_FILENO) ::close(fd);
}

// What --help and --version print. CLI11 would print it itself, and not look whether it could.
static int say_help(const CLI::App& app, const CLI::ParseError& asked) {
  std::ostringstream text;
  app.exit(asked, text, text);
  if (peal::cli::say(stdout, text.view())) return peal::cli::kDone;
  return peal::cli::complain(peal::cli::kFailed, "what was asked for could not be written to stdout");
}

int main(int argc, char** argv) {
  fill_standard_streams();
  CLI::App app{"peal: servers, a load generator and the lab of the peal network library", "peal"};
  app.set_version_flag("--version", PEAL_VERSION);
  app.require_subcommand(1);
  int exit_code = peal::cli::kDone;
  peal::cli::add_commands(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return say_help(app, error);
    return peal::cli::complain(peal::cli::kCalledWrongly, fmt::format("{} (see --help)", error.what()));
  }
  return exit_code;
}
