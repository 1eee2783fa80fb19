// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/shell_quoting.h>

namespace peal::cli {

std::string quoted_for_shell(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=";
  const bool is_plain = !word.empty() && word.find_first_not_of(kPlain) == word.npos;
  return is_plain ? std::string(word) : quoted_for_shell(word);
}

}  // namespace peal::cli
