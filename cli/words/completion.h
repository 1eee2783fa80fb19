// SPDX-License-Identifier: BSD-3-Clause
// Completion of command lines in bash, zsh and fish. A shell loads a script, which runs the program itself to learn
// which words may come next (`peal --complete WORDS...`). Therefore the shell never offers an option that this version
// does not have.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace peal::cli {

// The word that a shell's completion script passes before the words of the command line. A program that gets kComplete
// as its first word only prints the words that may complete the command line.
inline constexpr std::string_view kComplete = "--complete";

// Returns the words that may complete the last word in `words`. The last word is an empty text if the user has not
// typed any letter of it. Each returned word is on a line of its own, as "WORD" or as "WORD<tab>description". The
// result is empty if the program knows no word that fits, for example because the last word is the name of a file.
// `words` does not include the name of the program.
std::string completions(const CLI::App& program, std::span<const std::string> words);

// Returns the completion script for `shell`, which is "bash", "zsh" or "fish". `program` is the name of the program
// that the user types in the shell.
std::string completion_script(std::string_view shell, std::string_view program);

// Adds the command `completion SHELL` to `app`. The command prints the completion script for that shell. `name` is the
// name of the program.
void add_completion(CLI::App& app, std::string_view name, int& exit_code);

}  // namespace peal::cli
