// SPDX-License-Identifier: BSD-3-Clause
#include <cli/run_program.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cli/model_program.h>
#include <cli/words/completion.h>
#include <cli/words/manual.h>
#include <cli/words/misuse.h>
#include <cli/words/word_walk.h>

namespace peal::cli {
namespace {

// Opens /dev/null for each of the fds 0, 1 and 2 that is closed. Otherwise the next socket could become fd 1 or 2, and
// printed text would be sent to the peer of that socket.
void fill_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd > STDERR_FILENO) ::close(fd);
}

// Prints the text of --help or --version. CLI11 could print it as well, but would not report an error if stdout cannot
// be written.
int say_help(const CLI::App& app, const CLI::ParseError& asked) {
  std::ostringstream text;
  app.exit(asked, text, text);
  if (say(stdout, text.view())) return kDone;
  return complain(kFailed, "the help or the version could not be written to stdout");
}

// Prints the words that may complete the command line `words`. After `peal model`, only the program `peal-model` knows
// these words. That program is then executed to print them.
int say_completions(const CLI::App& app, std::span<const std::string> words) {
  if (walk_words(app, words).foreign) {
    std::vector<std::string> all{app.get_name(), std::string(kComplete)};
    all.insert(all.end(), words.begin(), words.end());
    return execute_model_program(std::move(all));
  }
  if (say(stdout, completions(app, words))) return kDone;
  return complain(kFailed, "the completions could not be written to stdout");
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
  add_completion(app, program.file, exit_code);
  add_manual(app, program.file, version, exit_code);
  app.footer(fmt::format("Examples:\n{}", program.examples));
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == kComplete) return say_completions(app, std::span(words).subspan(1));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return say_help(app, error);
    return complain(kCalledWrongly, misuse(app, words, error.what()));
  }
  return exit_code;
}

}  // namespace peal::cli
