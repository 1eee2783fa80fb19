// SPDX-License-Identifier: BSD-3-Clause
#include <cli/new/starters.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace peal::cli {
namespace {

// Names of targets that CMake, CTest or a library of peal's needs. `backtrace` is linked by its bare name.
constexpr std::array kTakenNames = std::to_array<std::string_view>(
    {"all", "backtrace", "clean", "depend", "edit_cache", "help", "install", "list_install_components", "package",
     "package_source", "peal", "preinstall", "rebuild_cache", "test"});

bool is_word_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_well_formed(std::string_view name) {
  if (name.empty() || name.front() < 'a' || name.front() > 'z' || !is_word_character(name.back())) return false;
  for (size_t i = 1; i < name.size(); ++i) {
    const bool joins = (name[i] == '-' || name[i] == '_') && is_word_character(name[i - 1]);
    if (!is_word_character(name[i]) && !joins) return false;
  }
  return true;
}

std::string replaced(std::string_view name, char old_character, char new_character) {
  std::string result(name);
  std::ranges::replace(result, old_character, new_character);
  return result;
}

// Returns the text with the name in place of my_service and my-service. A name that contains one of these two is not
// replaced again.
std::string named(std::string_view text, std::string_view name) {
  constexpr std::string_view kUnderscores = "my_service";
  constexpr std::string_view kDashes = "my-service";
  static_assert(kUnderscores.size() == kDashes.size());
  const std::string underscores = with_underscores(name);
  const std::string dashes = with_dashes(name);
  std::string result;
  while (!text.empty()) {
    const size_t at = std::min({text.find(kUnderscores), text.find(kDashes), text.size()});
    result += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    result += text.starts_with(kUnderscores) ? underscores : dashes;
    text.remove_prefix(kUnderscores.size());
  }
  return result;
}

}  // namespace

std::string project_name_trouble(std::string_view name) {
  if (name.size() > kLongestProjectName) {
    return fmt::format("the name has {} characters: choose one with {} at most", name.size(), kLongestProjectName);
  }
  if (!is_well_formed(name)) {
    return fmt::format(
        "'{}' cannot be the name of a project: it takes lower-case letters and digits, a letter first, with single "
        "'-' or '_' between words, such as chat-server",
        name);
  }
  const std::string target = with_underscores(name);
  if (target.starts_with("peal_") || std::ranges::find(kTakenNames, target) != kTakenNames.end()) {
    return fmt::format("'{}' cannot be the name of a project: CMake or peal has a target of that name", name);
  }
  return {};
}

std::string with_underscores(std::string_view name) { return replaced(name, '-', '_'); }
std::string with_dashes(std::string_view name) { return replaced(name, '_', '-'); }

std::vector<ProjectFile> project_files(std::string_view kind, std::string_view name) {
  std::vector<ProjectFile> files;
  for (const StarterFile& file : starter_files()) {
    if (file.folder != kind && file.folder != "shared") continue;
    files.push_back({.path = named(file.path, name), .text = named(file.text, name)});
  }
  std::ranges::sort(files, {}, &ProjectFile::path);
  return files;
}

}  // namespace peal::cli
