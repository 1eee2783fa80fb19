// SPDX-License-Identifier: BSD-3-Clause
// add_choice(): adds an option that takes one of several words, each of which stands for a value. Help and error
// messages show only the words. CLI11's own transformers would also print the values, and a value of a one-byte enum is
// printed as a control character.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <cli/one_of.h>

namespace peal::cli {

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

// Adds the option `name` with the help text `what`. The option takes one of `choices`, and stores its value in `value`.
// The default is the value that `value` holds now, which must be one of `choices`. `value` must outlive `command`.
template <class Value>
CLI::Option* add_choice(CLI::App& command, const std::string& name, Value& value, const Choices<Value>& choices,
                        const std::string& what) {
  std::vector<std::string> words;
  std::string now;
  for (const auto& [word, stands_for] : choices) {
    words.push_back(word);
    if (stands_for == value) now = word;
  }
  const auto take = [&value, choices](const std::string& given) {
    for (const auto& [word, stands_for] : choices) {
      if (word == given) value = stands_for;
    }
  };
  return command.add_option_function<std::string>(name, take, what)->check(one_of(words))->default_str(now);
}

}  // namespace peal::cli
