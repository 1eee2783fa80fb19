// SPDX-License-Identifier: BSD-3-Clause
// Tests the output of `peal model list`, and which options the models accept and refuse. The tests in models/ test the
// models themselves.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <models/model_table.h>
#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;

Answer call_model(std::vector<std::string> words) {
  return call_command("model", add_model_commands, std::move(words));
}

void expect_model_called_wrongly(const std::vector<std::string>& words, std::string_view sentence) {
  SCOPED_TRACE(testing::PrintToString(words));
  const Answer answer = call_model(words);
  expect_refused(answer, kCalledWrongly, sentence);
  EXPECT_TRUE(std::ranges::none_of(answer.error, [](char c) { return c >= 0 && c < ' ' && c != '\n'; }))
      << testing::PrintToString(answer.error);
}

TEST(ModelCommand, list_has_a_line_for_every_model) {
  const Answer answer = call_model({"list"});
  EXPECT_EQ(answer.exit_code, kDone);
  EXPECT_EQ(answer.error, "");
  for (const models::ModelEntry& row : models::model_table()) {
    EXPECT_THAT("\n" + answer.out, HasSubstr("\n" + std::string(row.name) + " "));
    EXPECT_THAT(answer.out, HasSubstr(row.line));
    EXPECT_THAT(answer.out, HasSubstr(row.historic));
  }
}

TEST(ModelCommand, list_as_json_names_the_options_of_each_model) {
  const Answer answer = call_model({"list", "--json"});
  EXPECT_EQ(answer.exit_code, kDone);
  const nlohmann::json rows = nlohmann::json::parse(answer.out);
  ASSERT_EQ(rows.size(), models::model_table().size());
  CLI::App app{"peal", "peal"};
  int exit_code = 0;
  add_model_commands(app, exit_code);
  const CLI::App* run = app.get_subcommand("model")->get_subcommand("run");
  std::set<std::string> all;
  for (const nlohmann::json& row : rows) {
    for (const nlohmann::json& option : row.at("options")) all.insert(option.get<std::string>());
  }
  EXPECT_EQ(all.size(), 19u) << testing::PrintToString(all);
  for (size_t i = 0; i < rows.size(); ++i) {
    const models::ModelEntry& model = models::model_table()[i];
    SCOPED_TRACE(model.name);
    EXPECT_EQ(rows[i].at("name"), model.name);
    EXPECT_EQ(rows[i].at("historic"), model.historic);
    EXPECT_EQ(rows[i].at("line"), model.line);
    const auto taken = rows[i].at("options").get<std::set<std::string>>();
    const CLI::App* command = run->get_subcommand(std::string(model.name));
    for (const std::string& option : all) {
      EXPECT_EQ(command->get_option_no_throw(option) != nullptr, taken.contains(option)) << option;
    }
    for (const char* everybodys : {"--listen", "--max-frame", "--work", "--work-kind"}) {
      EXPECT_NE(command->get_option_no_throw(everybodys), nullptr) << everybodys;
    }
  }
}

TEST(ModelCommand, option_that_a_model_does_not_take) {
  expect_model_called_wrongly({"run", "blocking_single", "--workers", "2"}, "--workers");
  expect_model_called_wrongly({"run", "blocking_leader_follower", "--slow-timeout", "1s"}, "--slow-timeout");
  expect_model_called_wrongly({"run", "reactor_epoll_edge", "--read-until-eagain"}, "--read-until-eagain");
  expect_model_called_wrongly({"run", "coroutine_stackless", "--contexts", "boost"}, "--contexts");
  expect_model_called_wrongly({"run", "peal_callbacks", "--poller", "poll"}, "--poller");
}

TEST(ModelCommand, wrong_command_lines) {
  expect_model_called_wrongly({"run"}, "subcommand");
  expect_model_called_wrongly({}, "subcommand");
  expect_model_called_wrongly({"run", "no_such_model"}, "");
  expect_model_called_wrongly({"run", "blocking_single", "--listen", "localhost"}, "'localhost': the port is missing");
  expect_model_called_wrongly({"run", "blocking_single", "--work", "long"}, "--work takes off or a time");
  expect_model_called_wrongly({"run", "blocking_single", "--work", "501ms"}, "--work takes off or a time up to 500ms");
  expect_model_called_wrongly({"run", "blocking_single", "--work-kind", "play"}, "--work-kind");
  expect_model_called_wrongly({"run", "blocking_single", "--max-frame", "much"}, "--max-frame takes a size");
  expect_model_called_wrongly({"run", "reactor_epoll", "--slow-timeout", "0s"}, "--slow-timeout takes off or a time");
  expect_model_called_wrongly({"run", "reactor_epoll", "--write", "later"}, "--write");
  expect_model_called_wrongly({"run", "reactor_epoll", "--events", "0"}, "--events");
  expect_model_called_wrongly({"run", "reactor_thread_pool", "--workers", "0"}, "--workers");
  expect_model_called_wrongly({"run", "half_sync_bounded_queue", "--queue-bound", "0"}, "--queue-bound");
  expect_model_called_wrongly({"run", "half_sync_bounded_queue", "--reply-by", "nobody"}, "--reply-by");
  expect_model_called_wrongly({"run", "coroutine_stackful", "--coroutines", "0"}, "--coroutines");
  expect_model_called_wrongly({"run", "libio_accept_thread", "--queues", "two"}, "--queues");
  expect_model_called_wrongly({"run", "libio_accept_thread", "--on-hand-over", "wait"}, "--on-hand-over");
  expect_model_called_wrongly({"run", "libio_accept_thread", "--connections", "old"}, "--connections");
  expect_model_called_wrongly({"run", "libio_reactor", "--poller", "kqueue"}, "--poller");
  expect_model_called_wrongly({"run", "peal_callbacks", "--engine", "steam"}, "there is no engine 'steam'");
}

}  // namespace
}  // namespace peal::cli
