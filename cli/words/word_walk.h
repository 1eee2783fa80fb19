// SPDX-License-Identifier: BSD-3-Clause
// walk_words(): reads a command line without executing it. It finds the command that the words name, the first unknown
// word, and what may come next. CLI11 reads the words again when it executes the command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace peal::cli {

struct WordWalk {
  enum class Unknown : uint8_t {
    kNone,     // every word is known
    kCommand,  // `word` stands in the place of a command, but no command has this name
    kOption,   // `word` is an option that the command does not have
    kSurplus,  // `word` is a text, but the command takes no more texts
  };

  const CLI::App* command = nullptr;     // the last command that the words name
  std::string path;                      // all names that lead to `command`: "peal serve http"
  const CLI::Option* expects = nullptr;  // the option whose value must be the next word, or null
  bool foreign = false;                  // true after "peal model": another program reads the words that follow
  Unknown unknown = Unknown::kNone;
  std::string word;  // the unknown word; for an option, without "=value"
};

// Reads `words`, which do not include the name of the program. Stops at the first unknown word. Also stops after `peal
// model`, because the program `peal-model` reads the words that follow.
WordWalk walk_words(const CLI::App& program, std::span<const std::string> words);

// Returns the commands directly under `command`, in the order in which they were added.
std::vector<const CLI::App*> commands_of(const CLI::App& command);
// Returns all names of an option, such as "--connections" and "-c". A positional argument has no names.
std::vector<std::string> option_names(const CLI::Option& option);
// Returns the words that the option accepts, such as "epoll" and "poll". The result is empty if the option accepts any
// text.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace peal::cli
