// SPDX-License-Identifier: BSD-3-Clause
// The program `peal-model`, which `peal model` executes. The models have a program of their own, so that a build of
// `peal` does not compile all of them.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <cli/command.h>
#include <cli/run_program.h>

namespace {

// If one of these words comes first, nothing is inserted before it.
constexpr std::array<std::string_view, 5> kFirstWords{"model", "completion", "man", "--version", "--complete"};

// Returns the command line with `model` as its first word, and a null pointer at its end. A user may call this program
// directly: `peal-model list` is then the same as `peal model list`.
std::vector<char*> with_model(int argc, char** argv) {
  static std::array<char, 6> model{"model"};
  std::vector<char*> words(argv, argv + argc + 1);
  if (argc > 0 && (argc == 1 || std::ranges::find(kFirstWords, argv[1]) == kFirstWords.end())) {
    words.insert(words.begin() + 1, model.data());
  }
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> words = with_model(argc, argv);
  return peal::cli::run_program(static_cast<int>(words.size()) - 1, words.data(), PEAL_VERSION,
                                [](CLI::App& app, int& exit_code) {
                                  peal::cli::add_model_commands(app, exit_code);
                                  peal::cli::refuse_empty_texts(app);
                                },
                                {.about = "runs one echo service in any of many concurrency models",
                                 .file = "peal-model",
                                 .examples = "  peal model list\n"
                                             "  peal model run reactor_epoll --listen 127.0.0.1:9981"});
}
