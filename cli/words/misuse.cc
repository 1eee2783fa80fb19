// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/misuse.h>

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/words/near_names.h>
#include <cli/words/word_walk.h>

namespace peal::cli {
namespace {

constexpr size_t kMostListed = 12;  // longer lists are not shown, such as that of the forty models

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : commands_of(command)) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> all_option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (std::string& name : option_names(*option)) names.push_back(std::move(name));
  }
  return names;
}

// Appends the full names of all commands at any depth below `command` that are called `name`. `path` is the full name
// of `command`. For `name` "pingpong" below "peal", appends "peal serve pingpong", "peal load pingpong" and "peal load
// duel pingpong".
void find_deeper(const CLI::App& command, const std::string& path, const std::string& name,
                 std::vector<std::string>& found) {
  for (const CLI::App* sub : commands_of(command)) {
    const std::string sub_path = path + ' ' + sub->get_name();
    if (sub->get_name() == name) found.push_back(sub_path);
    find_deeper(*sub, sub_path, name, found);
  }
}

// Returns a text such as "; there are: a, b" with all names. Returns an empty text if there are too many for one
// message.
std::string listed(const std::vector<std::string>& names) {
  return names.size() > kMostListed ? std::string() : fmt::format("; there are: {}", fmt::join(names, ", "));
}

std::string unknown_command(const WordWalk& at) {
  const std::vector<std::string> names = command_names(*at.command);
  std::vector<std::string> deeper;
  find_deeper(*at.command, at.path, at.word, deeper);
  std::string meant = did_you_mean(names, at.word);
  if (!deeper.empty()) meant = fmt::format(" (did you mean {}?)", fmt::join(deeper, " or "));
  return fmt::format("{} has no command '{}'{}", at.path, at.word, meant.empty() ? listed(names) : meant);
}

}  // namespace

std::string misuse(const CLI::App& program, std::span<const std::string> words, std::string_view fault) {
  const WordWalk at = walk_words(program, words);
  const std::string help = fmt::format(" (see {} --help)", at.path);
  switch (at.unknown) {
    case WordWalk::Unknown::kCommand: return unknown_command(at) + help;
    case WordWalk::Unknown::kOption:
      return fmt::format("{} has no option {}{}{}", at.path, at.word,
                         did_you_mean(all_option_names(*at.command), at.word), help);
    case WordWalk::Unknown::kSurplus: return fmt::format("{} takes no further text, as '{}'{}", at.path, at.word, help);
    case WordWalk::Unknown::kNone: break;
  }
  if (at.expects == nullptr && at.command->get_require_subcommand_min() > 0 && !commands_of(*at.command).empty()) {
    return fmt::format("{} needs a command{}{}", at.path, listed(command_names(*at.command)), help);
  }
  return fmt::format("{}{}", fault, help);
}

}  // namespace peal::cli
