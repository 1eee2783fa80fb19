// SPDX-License-Identifier: BSD-3-Clause
// How a command prints a word that a shell will read.
#pragma once

#include <string>
#include <string_view>

namespace peal::cli {

// Returns `word` in single quotation marks, so that a shell reads it as one unchanged word.
std::string quoted_for_shell(std::string_view word);
// Does the same, but returns a word as it is if a shell reads it unchanged without quotation marks, as most paths.
std::string shell_word(std::string_view word);

}  // namespace peal::cli
