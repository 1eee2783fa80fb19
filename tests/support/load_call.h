// SPDX-License-Identifier: BSD-3-Clause
// Calls `peal load`, or another command of `peal`, inside the test's process.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cli/command.h>

namespace peal::cli {

struct Answer {
  int exit_code = -1;
  std::string out;
  std::string error;
};

// Runs the command line `peal NAME words` inside this process. `add` is the function that adds the command NAME to
// `peal`.
inline Answer call_command(const std::string& name, void (*add)(CLI::App&, int&), std::vector<std::string> words) {
  CLI::App app{"peal", "peal"};
  Answer answer;
  add(app, answer.exit_code);
  refuse_empty_texts(app);
  words.insert(words.begin(), name);
  std::ranges::reverse(words);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    // Prints the error and sets the exit code of a wrong call, as main() does.
    answer.exit_code = complain(kCalledWrongly, error.what());
  }
  answer.out = testing::internal::GetCapturedStdout();
  answer.error = testing::internal::GetCapturedStderr();
  return answer;
}

// Checks that a command was refused: its exit code is `exit_code`, stdout is empty, and stderr is one line that
// contains `words`.
inline void expect_refused(const Answer& answer, int exit_code, std::string_view words) {
  EXPECT_EQ(answer.exit_code, exit_code) << words;
  EXPECT_EQ(answer.out, "") << words;
  EXPECT_THAT(answer.error, testing::HasSubstr(words));
  EXPECT_EQ(std::ranges::count(answer.error, '\n'), 1) << answer.error;
}

inline Answer call_load(std::vector<std::string> words) { return call_command("load", add_load, std::move(words)); }

}  // namespace peal::cli
