// SPDX-License-Identifier: BSD-3-Clause
// Tests the output, the messages and the exit codes of `peal drum`. The tests in load/drum/ test its measurements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;

Answer drum(std::vector<std::string> words) { return call_command("drum", add_drum, std::move(words)); }

void expect_drum_refused(int code, std::vector<std::string> words, std::string_view sentence) {
  expect_refused(drum(std::move(words)), code, sentence);
}

TEST(DrumCommand, a_wrong_command_line_gets_one_sentence) {
  expect_drum_refused(kCalledWrongly, {"-n", "0"}, "-n takes 1 to");
  expect_drum_refused(kCalledWrongly, {"-n", "5", "-a", "6"}, "6 drumsticks are too many for 5 pairs");
  expect_drum_refused(kCalledWrongly, {"--rounds", "1"}, "--rounds takes 2 to");
  expect_drum_refused(kCalledWrongly, {"--engine", "steam"}, "there is no engine 'steam'");
  expect_drum_refused(kCalledWrongly, {"--engine", "sim"}, "there is no engine 'sim'");
  expect_drum_refused(kCalledWrongly, {"--rearm"}, "give --timeouts too");
  expect_drum_refused(kCalledWrongly, {"-w", "many"}, "--writes");
  expect_drum_refused(kCalledWrongly, {"--tempo", "fast"}, "--tempo");
}

TEST(DrumCommand, more_pairs_than_the_fd_limit_allows) {
  expect_drum_refused(kFailed, {"-n", "9000000"}, "fds: at most ");
}

TEST(DrumCommand, select_refuses_fds_above_its_limit) {
  if (raise_fd_limit() < 2500) GTEST_SKIP() << "too few fds to get there";
  expect_drum_refused(kFailed, {"-n", "1200", "--engine", "select"}, "select(2) takes only fds below FD_SETSIZE");
}

TEST(DrumCommand, figures_that_cannot_be_written_are_noticed_before_the_run) {
  expect_drum_refused(kFailed, {"--json", "/nowhere/at/all.json"}, "/nowhere/at/all.json cannot be written");
}

TEST(DrumCommand, a_run_reports_to_stdout_and_to_the_file) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path("drum.json");
  const Answer answer =
      drum({"-n", "20", "-a", "2", "-w", "30", "--rounds", "3", "--timeouts", "--engine", "epoll", "--json", file});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("20 socketpairs, 2 active, 30 writes, 3 rounds"));
  const nlohmann::json json = nlohmann::json::parse(folder.read("drum.json"));
  EXPECT_EQ(json["rounds"].size(), 3U);
  EXPECT_EQ(json["idle"], "touch");
}

TEST(DrumCommand, json_on_stdout_comes_without_the_report) {
  const Answer answer = drum({"--pairs", "10", "--rounds", "2", "--pipes", "--timeouts", "--rearm", "--json", "-"});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  const nlohmann::json json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["transport"], "pipe");
  EXPECT_EQ(json["idle"], "rearm");
  EXPECT_EQ(json["rounds"][0]["receives"], 101);
}

}  // namespace
}  // namespace peal::cli
