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

}  // namespace

int execute_model_program(std::vector<std::string> words) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (self.parent_path() / kModelProgram).string();
  std::vector<char*> pointers(words.size() + 1);  // one more: execv(3) needs a null pointer at the end
  std::ranges::transform(words, pointers.begin(), [](std::string& word) { return word.data(); });
  if (!error) {
    ::execv(path.c_str(), pointers.data());
    error = errno_code(errno);
  }
  return complain(kFailed, fmt::format("{} cannot be run: {}", path, error.message()));
}

void add_model_program(CLI::App& app, int& exit_code) {
  CLI::App* model = app.add_subcommand("model", "Run one echo service in any of many concurrency models");
  // Makes CLI11 leave all words after `model` unread, because peal-model reads these words. set_help_flag() without a
  // name removes the option --help, so that --help is left unread too. The callback passes the words to peal-model.
  model->set_help_flag();
  model->prefix_command();
  model->callback([model, &exit_code] {
    std::vector<std::string> words{"peal", "model"};
    for (std::string& word : model->remaining()) words.push_back(std::move(word));
    exit_code = execute_model_program(std::move(words));
  });
}

}  // namespace peal::cli
