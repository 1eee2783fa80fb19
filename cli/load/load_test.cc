// SPDX-License-Identifier: BSD-3-Clause
// Tests the output, the messages and the exit codes of `peal load`. The tests in load/ test the runs themselves.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <load/queueing_server.h>
#include <load/scripted_http.h>
#include <load/scripted_server.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>
#include <tests/support/program.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Answer pingpong(std::vector<std::string> words) {
  words.insert(words.begin(), "pingpong");
  return call_load(std::move(words));
}

TEST(LoadCommand, more_fds_than_the_limit_allows) {
  const Answer answer = pingpong({"127.0.0.1:1", "--connections", "1000000"});
  expect_refused(answer, kFailed, "1000000 connections need");
  expect_refused(answer, kFailed, "ulimit -Hn");
}

TEST(LoadCommand, a_target_where_nobody_listens) {
  const std::string gone = [] { return load::ScriptedServer().address().to_string(); }();
  const Answer answer = pingpong({gone, "--connect-timeout", "200ms"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, HasSubstr("peal: cannot connect to " + gone));
  EXPECT_THAT(answer.error, HasSubstr("Connection refused"));
}

TEST(LoadCommand, a_server_that_never_answers) {
  const load::ScriptedServer server(load::Manner::kSilent);
  const Answer answer =
      pingpong({server.address().to_string(), "--duration", "50ms", "--warmup", "0s", "--timeout", "20ms"});
  EXPECT_EQ(answer.exit_code, kFailed) << "no message came back in the whole run";
  EXPECT_THAT(answer.out, HasSubstr("latency     no message came back")) << "the report is printed nevertheless";
  EXPECT_THAT(answer.error, HasSubstr("peal: not one message came back from " + server.address().to_string()));
}

TEST(LoadCommand, an_engine_that_does_not_exist) {
  const Answer answer = pingpong({"127.0.0.1:1", "--engine", "steam"});
  EXPECT_NE(answer.exit_code, kDone);
  EXPECT_THAT(answer.error, HasSubstr("steam"));
}

TEST(LoadCommand, a_report_that_cannot_be_written_is_noticed_before_the_run) {
  for (const char* option : {"--json", "--ndjson", "--hdr", "--openmetrics"}) {
    expect_refused(pingpong({"127.0.0.1:1", option, "/nowhere/at/all"}), kFailed, "/nowhere/at/all cannot be written");
  }
}

TEST(LoadCommand, a_run_reports_to_stdout_and_to_the_files) {
  const load::ScriptedServer server;
  const test::TemporaryFolder folder;
  const Answer answer = pingpong({server.address().to_string(),
                                  "--connections",
                                  "2",
                                  "--duration",
                                  "400ms",
                                  "--warmup",
                                  "10ms",
                                  "--interval",
                                  "20ms",
                                  "--rate",
                                  "500/s",
                                  "--engine",
                                  "epoll",
                                  "--json",
                                  folder.path("json"),
                                  "--ndjson",
                                  folder.path("ndjson"),
                                  "--hdr",
                                  folder.path("hdr"),
                                  "--openmetrics",
                                  folder.path("metrics")});
  EXPECT_TRUE(answer.exit_code == kDone || answer.exit_code == 3) << answer.error;
  EXPECT_EQ(answer.error, "") << "there is no live line if stderr is no terminal";
  EXPECT_THAT(answer.out, HasSubstr("2 asked, 2 open, 2 served"));
  const nlohmann::json report = nlohmann::json::parse(folder.read("json"));
  EXPECT_EQ(report["connections"]["open"], 2);
  EXPECT_EQ(report["arrivals"], "constant 500/s");
  EXPECT_GT(report["messages"], 0);
  ASSERT_GT(report["intervals"].size(), 1U);
  std::istringstream lines(folder.read("ndjson"));
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(nlohmann::json::parse(line)["messages"], report["intervals"].at(count)["messages"]) << count;
  }
  EXPECT_EQ(count, report["intervals"].size());
  const std::string log = folder.read("hdr");
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(log, '\n')), 4 + count);
  EXPECT_THAT(folder.read("metrics"), testing::EndsWith("# EOF\n"));
}

TEST(LoadCommand, json_on_stdout_sends_the_report_to_stderr) {
  const load::ScriptedServer server;
  const Answer answer =
      pingpong({server.address().to_string(), "--duration", "400ms", "--warmup", "0s", "--json", "-"});
  EXPECT_EQ(nlohmann::json::parse(answer.out)["tool"], "peal load");
  EXPECT_THAT(answer.error, HasSubstr("1 asked, 1 open, 1 served"));
}

TEST(LoadCommand, live_lines_without_a_terminal) {
  const load::ScriptedServer server;
  const Answer answer = pingpong(
      {server.address().to_string(), "--duration", "400ms", "--warmup", "0s", "--interval", "20ms", "--live", "on"});
  EXPECT_THAT(answer.error, HasSubstr("in flight 1  p50"));
  EXPECT_THAT(answer.error, Not(HasSubstr("\x1b"))) << "no terminal, no escapes";
}

TEST(LoadCommand, a_server_that_sends_garbage_fails_a_gate) {
  const load::ScriptedServer server(load::Manner::kFlipByte, 64);
  const Answer answer = pingpong({server.address().to_string(), "--duration", "400ms", "--warmup", "0s"});
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_THAT(answer.out, HasSubstr("INVALID     Unexpected errors: wrong_bytes"));
}

TEST(LoadCommand, a_server_that_serves_one_at_a_time) {
  const load::QueueingServer server;
  const auto load_it = [&server](const std::vector<std::string>& more) {
    Answer answer;
    for (const std::string time : {"50ms", "1s", "10s"}) {  // repeats with more time if the machine is busy
      std::vector<std::string> words{
          "echo", server.address().to_string(), "--connections", "10", "--warmup", "0s", "--duration", time, "--grace",
          time};
      words.insert(words.end(), more.begin(), more.end());
      answer = call_load(std::move(words));
      if (answer.exit_code != kFailed) break;
    }
    return answer;
  };
  EXPECT_EQ(load_it({}).exit_code, 3) << "unexpected errors";
  const test::TemporaryFolder folder;
  const Answer answer = load_it({"--expect-queueing", "--json", folder.path("json")});
  EXPECT_EQ(answer.exit_code, kDone) << answer.out;
  EXPECT_THAT(answer.out, HasSubstr("queueing    served 1 of 10; 9 waited for their turn when the run ended\n"));
  EXPECT_EQ(nlohmann::json::parse(folder.read("json"))["connections"]["served"], 1);
}

TEST(LoadCommand, a_server_that_serves_one_at_a_time_with_wrong_answers) {
  size_t seen = 0;
  const load::QueueingServer server([&seen](std::string_view bytes) {
    seen += bytes.size();
    return seen <= 640 ? std::string(bytes) : std::string(bytes.size(), 'x');
  });
  const Answer answer = pingpong({server.address().to_string(), "--connections", "3", "--duration", "400ms", "--warmup",
                                  "0s", "--grace", "20ms", "--expect-queueing"});
  EXPECT_EQ(answer.exit_code, 3) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("INVALID     Unexpected errors: wrong_bytes"));
}

TEST(LoadCommand, a_server_that_serves_no_connection_has_failed_even_if_queueing_is_expected) {
  const load::QueueingServer server([](std::string_view) { return std::string(); });
  const Answer answer = pingpong({server.address().to_string(), "--connections", "3", "--duration", "400ms", "--warmup",
                                  "0s", "--grace", "20ms", "--expect-queueing"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, HasSubstr("not one message came back"));
  EXPECT_THAT(answer.error, HasSubstr(": 3 connections waited for their turn until the end"));
}

TEST(LoadCommand, http_requests_are_sent_and_judged_as_asked_for) {
  const load::ScriptedHttp server([](size_t, size_t, const std::string& text) {
    EXPECT_TRUE(text.starts_with("POST / HTTP/1.1\r\n")) << text;
    EXPECT_THAT(text, HasSubstr("x-load: yes"));
    EXPECT_THAT(text, testing::EndsWith("payload"));
    return load::ScriptedAnswer{};
  });
  const std::vector<std::string> words{"http",        server.url(), "--method",     "POST",       "--header",
                                       "x-load: yes", "--body",     "payload",      "--duration", "400ms",
                                       "--warmup",    "0s",         "--expect-body"};
  std::vector<std::string> right = words;
  right.emplace_back("hello");
  Answer answer = call_load(right);
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.out, HasSubstr("POST of 7 bytes"));
  EXPECT_THAT(answer.out, HasSubstr("first byte"));
  std::vector<std::string> wrong = words;
  wrong.emplace_back("goodbye");
  answer = call_load(wrong);
  EXPECT_THAT(answer.out, HasSubstr("answers were not what was asked for."));
}

// The error once said that not one message came back, after thousands of answers with status 404.
TEST(LoadCommand, answers_with_a_wrong_status_are_counted_by_status) {
  const load::ScriptedHttp server([](size_t, size_t, const std::string&) {
    return load::ScriptedAnswer{.bytes = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"};
  });
  const Answer answer = call_load({"http", server.url(), "--duration", "400ms", "--warmup", "0s"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.out, HasSubstr("\nstatus      404 "));
  EXPECT_THAT(answer.error,
              HasSubstr(" was correct: the server answered with status 404 (--expect-status 404 makes it right)\n"));
}

TEST(LoadCommand, an_interrupted_run_prints_its_report) {
  const load::ScriptedServer server;
  Program run("/bin/sh", {"-c", "exec \"$@\" 2>&1", "sh", std::string(PEAL_BIN_DIR) + "/peal", "load", "pingpong",
                          server.address().to_string(), "--duration", "1h", "--warmup", "0s", "--interval", "100ms",
                          "--live", "on"});
  EXPECT_THAT(run.line(), HasSubstr("in flight "));
  run.signal(SIGINT);
  EXPECT_EQ(run.exit_code(), kInterrupted);
  EXPECT_THAT(run.output(), HasSubstr("1 asked, 1 open, 1 served"));
}

TEST(LoadCommand, a_search_in_which_no_rate_holds) {
  const load::ScriptedServer server;
  const test::TemporaryFolder folder;
  // No server answers half of the messages within 1 ns. Therefore the objective fails at every rate, and the search
  // ends after few trials.
  const Answer answer = pingpong({server.address().to_string(), "--duration", "20ms", "--warmup", "0s", "--rate", "500",
                                  "--slo", "p50=1ns", "--find-max", "--json", folder.path("json")});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.out, HasSubstr("trial 1"));
  EXPECT_THAT(answer.out, HasSubstr("does not hold: p50 is"));
  EXPECT_THAT(answer.out, HasSubstr("No rate was found at which p50=1ns holds."));
  const nlohmann::json report = nlohmann::json::parse(folder.read("json"));
  EXPECT_TRUE(report["rate"].is_null());
  EXPECT_GT(report["trials"].size(), 2U);
  EXPECT_EQ(report["trials"][0]["rate"], 500);
  EXPECT_EQ(report["trials"][0]["report"]["arrivals"], "constant 500/s");
}

}  // namespace
}  // namespace peal::cli
