// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/word_walk.h>

#include <algorithm>
#include <functional>

namespace peal::cli {
namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// Returns the name of the option that `word` begins with: "--rate" for "--rate=20", and "-c" for "-c20".
std::string name_in(const std::string& word) {
  return word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

size_t texts_taken_by(const CLI::App& command) {
  size_t most = 0;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) most += static_cast<size_t>(option->get_items_expected_max());
  }
  return most;
}

class Walker {
 public:
  explicit Walker(const CLI::App& program) { enter(program); }

  // Reads the next word. Returns false if the words after `word` must not be read, because `word` is unknown, or
  // because another program reads the words that follow (`peal model`).
  bool take(const std::string& word) {
    if (walk_.expects != nullptr) {
      walk_.expects = nullptr;
      return true;
    }
    if (word == "--" && !only_texts_) {
      only_texts_ = true;
      return true;
    }
    return is_option(word) && !only_texts_ ? take_option(word) : take_text(word);
  }
  WordWalk result() && { return std::move(walk_); }

 private:
  void enter(const CLI::App& command) {
    walk_.command = &command;
    walk_.path += (walk_.path.empty() ? "" : " ") + command.get_name();
    walk_.foreign = command.get_prefix_command();
    texts_left_ = texts_taken_by(command);
  }
  bool stop(WordWalk::Unknown unknown, std::string word) {
    walk_.unknown = unknown;
    walk_.word = std::move(word);
    return false;
  }
  bool take_option(const std::string& word) {
    const std::string name = name_in(word);
    const CLI::Option* option = walk_.command->get_option_no_throw(name);
    if (option == nullptr) return stop(WordWalk::Unknown::kOption, name);
    const bool has_value = word.size() > name.size();
    if (!has_value && option->get_items_expected_max() > 0) walk_.expects = option;
    return true;
  }
  bool take_text(const std::string& word) {
    const std::vector<const CLI::App*> commands = commands_of(*walk_.command);
    if (const auto named = std::ranges::find(commands, word, &CLI::App::get_name); named != commands.end()) {
      enter(**named);
      return !walk_.foreign;
    }
    if (texts_left_ == 0) {
      return stop(commands.empty() ? WordWalk::Unknown::kSurplus : WordWalk::Unknown::kCommand, word);
    }
    --texts_left_;
    return true;
  }

  WordWalk walk_;
  size_t texts_left_ = 0;
  bool only_texts_ = false;
};

}  // namespace

WordWalk walk_words(const CLI::App& program, std::span<const std::string> words) {
  Walker walker(program);
  for (const std::string& word : words) {
    if (!walker.take(word)) break;
  }
  return std::move(walker).result();
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands(std::function<bool(const CLI::App*)>());
}

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  // CLI11 has no function that returns the words which an option accepts. It only adds these words to the type name of
  // the option, as in "TEXT:{callbacks,coroutines}".
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.rfind('}');
  if (open == type.npos || close == type.npos || close < open) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

}  // namespace peal::cli
