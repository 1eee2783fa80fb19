// SPDX-License-Identifier: BSD-3-Clause
// An option that takes one of several words, each of which stands for a value. Help and complaints name the words and
// nothing else: CLI11's own transformers print the values too, and those of a one-byte enum are control characters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace peal::cli {

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

// `value` lives as long as the command; what it holds now, one of the choices, is the default.
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
  return command.add_option_function<std::string>(name, take, what)->check(CLI::IsMember(words))->default_str(now);
}

}  // namespace peal::cli
