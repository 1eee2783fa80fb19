// SPDX-License-Identifier: BSD-3-Clause
// misuse(): makes the error message for a wrong command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace peal::cli {

// Returns one sentence about what is wrong with `words`. If there are several faults, it is about the first of these:
// - An unknown word, because it may cause other faults. The sentence names the known words that are most similar.
// - A missing command.
// - Any other fault. The sentence is then `fault`, the error message of CLI11.
//
// `words` does not include the name of the program.
std::string misuse(const CLI::App& program, std::span<const std::string> words, std::string_view fault);

}  // namespace peal::cli
