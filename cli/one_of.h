// SPDX-License-Identifier: BSD-3-Clause
// one_of(): the check of an option that takes one of several words.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace peal::cli {

// Returns a check that refuses every text except `words`. The message lists the words and names the similar ones. Help
// and completion show the words. CLI11 has IsMember for this purpose, but its message is "text not in {a,b}".
CLI::Validator one_of(std::vector<std::string> words);

}  // namespace peal::cli
