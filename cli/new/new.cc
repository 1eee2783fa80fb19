// SPDX-License-Identifier: BSD-3-Clause
// The command `peal new`: writes a small project that uses peal.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <cli/command.h>
#include <cli/new/starters.h>
#include <cli/new/write_project.h>
#include <cli/words/shell_quoting.h>

namespace peal::cli {
namespace {

struct NewArguments {
  std::string place;  // the folder of the project; its last part is the project's name
  bool tcp = false;
  bool http = false;
  bool rpc = false;
};

// Returns the option that tells CMake where peal is installed, with a blank before it. Returns an empty text if this
// program does not belong to an installation, or if CMake looks there anyway.
std::string prefix_option() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path prefix = program.parent_path().parent_path();
  const bool is_found_anyway = prefix == "/usr" || prefix == "/usr/local";
  if (error || is_found_anyway || !std::filesystem::exists(prefix / "include/peal/net/server.h", error)) return {};
  return ' ' + shell_word("-DCMAKE_PREFIX_PATH=" + prefix.string());
}

std::string next_steps(const std::string& folder, std::string_view name, size_t files) {
  return fmt::format(
      "wrote {} files into {}\n"
      "Build and test it:\n"
      "  cd {}\n"
      "  cmake -B build{}\n"
      "  cmake --build build -j\n"
      "  ctest --test-dir build\n"
      "Run it:\n"
      "  build/{}\n"
      "README.md says what the build needs, and how to try the service.\n",
      files, folder, shell_word(folder), prefix_option(), with_underscores(name));
}

int write_new_project(const NewArguments& words) {
  if (int{words.tcp} + int{words.http} + int{words.rpc} > 1) {
    return complain(kCalledWrongly, "a project has one kind: give one of --tcp, --http and --rpc");
  }
  std::string folder = words.place;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();  // as completion of folders leaves one
  const std::string name = folder.substr(folder.rfind('/') + 1);
  if (const std::string trouble = project_name_trouble(name); !trouble.empty()) {
    return complain(kCalledWrongly, trouble);
  }
  std::string_view kind = "http";
  if (words.tcp) kind = "tcp";
  if (words.rpc) kind = "rpc";
  const std::vector<ProjectFile> files = project_files(kind, name);
  if (const std::string trouble = write_project(folder, files); !trouble.empty()) return complain(kFailed, trouble);
  if (say(stdout, next_steps(folder, name, files.size()))) return kDone;
  return complain(kFailed, fmt::format("the project is in {}, but the next steps could not be written", folder));
}

}  // namespace

void add_new(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "new", "Write a small project that uses peal: a service with limits, drain and inspector, and its test");
  auto words = std::make_shared<NewArguments>();
  command
      ->add_option("NAME", words->place,
                   "Name of the project, which becomes its folder; with a path, as in work/chat-server, the last part "
                   "is the name")
      ->required();
  command->add_flag("--tcp", words->tcp, "A service with a protocol of lines");
  command->add_flag("--http", words->http,
                    "A JSON API; the default, because browsers, curl and load balancers all speak HTTP");
  command->add_flag("--rpc", words->rpc, "Remote procedures over protobuf");
  command->footer(
      "The project has a CMakeLists.txt, a test in a simulated network with faults, a Dockerfile, a compose.yaml and "
      "a\n"
      "unit for systemd. Its files belong to you: change them and license them as you like.\n"
      "Example:\n  peal new chat-server --tcp");
  command->callback([words, &exit_code] { exit_code = write_new_project(*words); });
}

}  // namespace peal::cli
