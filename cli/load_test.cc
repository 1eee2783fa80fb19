// SPDX-License-Identifier: BSD-3-Clause
// What `peal load` says and answers. The runs themselves are tested in load/.
#include <filesystem>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cli/command.h>
#include <load/scripted_server.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;

struct Answer {
  int exit_code = -1;
  std::string out;
  std::string error;
};

Answer load(std::vector<std::string> words) {
  CLI::App app{"peal", "peal"};
  Answer answer;
  add_load(app, answer.exit_code);
  words.insert(words.begin(), {"load", "pingpong"});
  std::ranges::reverse(words);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  app.parse(words);
  answer.out = testing::internal::GetCapturedStdout();
  answer.error = testing::internal::GetCapturedStderr();
  return answer;
}

void expect_called_wrongly(std::vector<std::string> words, std::string_view sentence) {
  const Answer answer = load(std::move(words));
  EXPECT_EQ(answer.exit_code, kCalledWrongly);
  EXPECT_THAT(answer.error, HasSubstr(sentence));
  EXPECT_EQ(std::ranges::count(answer.error, '\n'), 1) << answer.error;
}

TEST(LoadCommand, what_is_called_wrongly_is_said_in_one_sentence) {
  expect_called_wrongly({"nowhere"}, "'nowhere' is not an address");
  expect_called_wrongly({"127.0.0.1:1", "--size", "0"}, "--size takes 1 to 16777216 bytes");
  expect_called_wrongly({"127.0.0.1:1", "--duration", "10"}, "--duration takes a time such as 10s");
  expect_called_wrongly({"127.0.0.1:1", "--warmup", "soon"}, "--warmup takes a time");
  expect_called_wrongly({"127.0.0.1:1", "--rate", "much"}, "--rate takes messages a second");
  expect_called_wrongly({"127.0.0.1:1", "--spin", "wild"}, "--spin takes off, auto or a bound");
  expect_called_wrongly({"127.0.0.1:1", "--threads", "2"}, "2 threads cannot share 1 connection");
  expect_called_wrongly({"127.0.0.1:1", "--source-addresses", "here"}, "'here' is not a numeric address");
}

TEST(LoadCommand, more_fds_than_the_limit_allows) {
  const Answer answer = load({"127.0.0.1:1", "--connections", "1000000"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, HasSubstr("1000000 connections need"));
  EXPECT_THAT(answer.error, HasSubstr("ulimit -Hn"));
}

TEST(LoadCommand, a_target_where_nobody_listens) {
  const std::string gone = [] { return load::ScriptedServer().address().to_string(); }();
  const Answer answer = load({gone});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_EQ(answer.error, "peal: cannot connect to " + gone + ": Connection refused\n");
}

TEST(LoadCommand, an_engine_that_does_not_exist) {
  const Answer answer = load({"127.0.0.1:1", "--engine", "steam"});
  EXPECT_NE(answer.exit_code, kDone);
  EXPECT_THAT(answer.error, HasSubstr("steam"));
}

TEST(LoadCommand, a_report_that_cannot_be_written_is_noticed_before_the_run) {
  const Answer answer = load({"127.0.0.1:1", "--json", "/nowhere/at/all.json"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, HasSubstr("/nowhere/at/all.json cannot be written"));
}

TEST(LoadCommand, a_run_reports_to_stdout_and_to_the_file) {
  const load::ScriptedServer server;
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / fmt::format("load-{}.json", ::getpid());
  const Answer answer = load({server.address().to_string(), "--connections", "2", "--duration", "100ms", "--warmup",
                              "10ms", "--rate", "500/s", "--engine", "epoll", "--json", file.string()});
  EXPECT_TRUE(answer.exit_code == kDone || answer.exit_code == 3) << answer.error;
  EXPECT_EQ(answer.error, "") << "no live line where stderr is no terminal";
  EXPECT_THAT(answer.out, HasSubstr("2 asked, 2 open, 2 served"));
  const nlohmann::json report = nlohmann::json::parse(std::ifstream(file));
  EXPECT_EQ(report["connections"]["open"], 2);
  EXPECT_GT(report["messages"], 0);
  std::filesystem::remove(file);
}

TEST(LoadCommand, a_server_that_sends_garbage_fails_a_gate) {
  const load::ScriptedServer server(load::Manner::kFlipByte, 64);
  const Answer answer = load({server.address().to_string(), "--duration", "50ms", "--warmup", "0s"});
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_THAT(answer.out, HasSubstr("INVALID     Errors nobody asked for: wrong_bytes 1"));
}

}  // namespace
}  // namespace peal::cli
