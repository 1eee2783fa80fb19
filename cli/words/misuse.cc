// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/misuse.h>

#include <algorithm>
#include <iterator>
#include <string>
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

// Returns the full names of all commands at any depth below `command` that `fits` accepts. `path` is the full name of
// `command`. With a `fits` that accepts the name "pingpong", the result below "peal" is "peal serve pingpong", "peal
// load pingpong" and "peal load duel pingpong".
template <class Fits>
std::vector<std::string> commands_below(const CLI::App& command, const std::string& path, const Fits& fits) {
  std::vector<std::string> found;
  for (const CLI::App* sub : commands_of(command)) {
    const std::string sub_path = path + ' ' + sub->get_name();
    if (fits(*sub)) found.push_back(sub_path);
    std::ranges::move(commands_below(*sub, sub_path, fits), std::back_inserter(found));
  }
  return found;
}

// Returns " (did you mean peal load http http://host/?)" if a URL stands in the place of a command that its scheme
// names, or an empty text.
std::string command_of_url(const WordWalk& at, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (at.word.starts_with(name + "://")) return fmt::format(" (did you mean {} {} {}?)", at.path, name, at.word);
  }
  return {};
}

std::string unknown_option(const WordWalk& at) {
  std::string meant = did_you_mean(all_option_names(*at.command), at.word);
  const std::vector<std::string> owners = commands_below(
      *at.command, at.path, [&at](const CLI::App& sub) { return sub.get_option_no_throw(at.word) != nullptr; });
  if (!owners.empty()) meant = fmt::format("; it stands after the command, as in {} {}", owners.front(), at.word);
  return fmt::format("{} has no option {}{}", at.path, at.word, meant);
}

// Completes the fault "TARGET is required" with what the option is for. Other faults stay as they are.
std::string explained(const CLI::App& command, std::string_view fault) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && fault == option->get_name() + " is required") {
      return fmt::format("{}: {}", fault, option->get_description());
    }
  }
  return std::string(fault);
}

// Returns a text such as "; there are: a, b" with all names. Returns an empty text if there are too many for one
// message.
std::string listed(const std::vector<std::string>& names) {
  return names.size() > kMostListed ? std::string() : fmt::format("; there are: {}", fmt::join(names, ", "));
}

std::string unknown_command(const WordWalk& at) {
  const std::vector<std::string> names = command_names(*at.command);
  const std::vector<std::string> deeper =
      commands_below(*at.command, at.path, [&at](const CLI::App& sub) { return sub.get_name() == at.word; });
  std::string meant = command_of_url(at, names);
  if (meant.empty()) meant = did_you_mean(names, at.word);
  if (!deeper.empty()) meant = fmt::format(" (did you mean {}?)", fmt::join(deeper, " or "));
  return fmt::format("{} has no command '{}'{}", at.path, at.word, meant.empty() ? listed(names) : meant);
}

}  // namespace

std::string misuse(const CLI::App& program, std::span<const std::string> words, std::string_view fault) {
  const WordWalk at = walk_words(program, words);
  const std::string help = fmt::format(" (see {} --help)", at.path);
  switch (at.unknown) {
    case WordWalk::Unknown::kCommand: return unknown_command(at) + help;
    case WordWalk::Unknown::kOption: return unknown_option(at) + help;
    case WordWalk::Unknown::kSurplus: return fmt::format("{} takes no further text, as '{}'{}", at.path, at.word, help);
    case WordWalk::Unknown::kNone: break;
  }
  if (at.expects != nullptr) {
    return fmt::format("{} needs a value: {}{}", at.expects->get_name(), at.expects->get_description(), help);
  }
  if (at.command->get_require_subcommand_min() > 0 && !commands_of(*at.command).empty()) {
    return fmt::format("{} needs a command{}{}", at.path, listed(command_names(*at.command)), help);
  }
  return explained(*at.command, fault) + help;
}

}  // namespace peal::cli
