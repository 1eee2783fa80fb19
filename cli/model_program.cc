// SPDX-License-Identifier: BSD-3-Clause
#include <cli/model_program.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <peal/base/result.h>

namespace peal::cli {
namespace {

constexpr const char* kModelProgram = "peal-model";

int execute_beside(const char* program, std::vector<std::string> words) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (self.parent_path() / program).string();
  std::vector<char*> pointers(words.size() + 1);  // the last one ends them
  std::ranges::transform(words, pointers.begin(), [](std::string& word) { return word.data(); });
  if (!error) {
    ::execv(path.c_str(), pointers.data());
    error = errno_code(errno);
  }
  return complain(kFailed, fmt::format("{} cannot be run: {}", path, error.message()));
}

}  // namespace

void add_model_program(CLI::App& app, int& exit_code) {
  CLI::App* model = app.add_subcommand("model", "Every concurrency model of one framed echo service");
  // All of its words are for the other program, --help among them.
  model->set_help_flag();
  model->prefix_command();
  model->callback([model, &exit_code] {
    std::vector<std::string> words{"peal", "model"};
    for (std::string& word : model->remaining()) words.push_back(std::move(word));
    exit_code = execute_beside(kModelProgram, std::move(words));
  });
}

}  // namespace peal::cli
