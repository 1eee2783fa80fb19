// SPDX-License-Identifier: BSD-3-Clause
// Tests the output, the messages and the exit codes of `peal load duel`. The tests in load/duel/ test the duels
// themselves.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cli/load/duel_arguments.h>
#include <load/scripted_http.h>
#include <load/scripted_server.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>
#include <tests/support/program.h>

namespace peal::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kRun = "a=./server --listen {listen}";

Answer call_duel(std::vector<std::string> words) {
  words.insert(words.begin(), "duel");
  return call_load(std::move(words));
}

void expect_wrong_duel(std::vector<std::string> words, std::string_view sentence, int exit_code = kCalledWrongly) {
  expect_refused(call_duel(std::move(words)), exit_code, sentence);
}

// Expects that `peal load duel` refuses these options together with a correct --run. The server of --run is never
// started.
void expect_wrong_beside(std::vector<std::string> words, std::string_view sentence) {
  words.insert(words.end(), {"--run", kRun});
  expect_wrong_duel(std::move(words), sentence);
}

// Adds options that make a duel as short as possible.
std::vector<std::string> briefly(std::vector<std::string> words, const char* rounds = "1") {
  for (const char* word :
       {"--slice", "5ms", "--rounds", rounds, "--restarts", "1", "--budget", "10s", "--engine", "epoll"}) {
    words.emplace_back(word);
  }
  return words;
}

// Adds options that make a short duel in which each contender runs a message. A busy machine may let a contender run no
// message in a slice of 5 ms.
std::vector<std::string> in_many_slices(std::vector<std::string> words) { return briefly(std::move(words), "20"); }

TEST(LoadDuel, no_contenders) {
  expect_wrong_duel({}, "there is no server to measure: give --run NAME=COMMAND or NAME=TARGET");
  expect_wrong_duel({"http"}, "there is no server to measure");
}

TEST(LoadDuel, options_before_the_experiment_are_refused) {
  for (const char* experiment : {"pingpong", "echo", "http"}) {
    expect_wrong_duel({"--run", kRun, experiment},
                      std::string("give the options of the duel after the word ") + experiment);
    expect_wrong_duel({"--in-turn", experiment, "--run", kRun}, "give the options of the duel after the word");
  }
}

TEST(LoadDuel, wrong_commands) {
  expect_wrong_duel({"--run", "server"},
                    "--run takes NAME=COMMAND, where NAME has only letters, digits, '-', '_', '.' and '+',"
                    " not 'server'");
  for (const char* text : {"=./server {port}", "a=", "a b={port}", "a/b={port}", "a:b={port}"}) {
    expect_wrong_duel({"--run", text}, "--run takes NAME=COMMAND");
  }
  expect_wrong_duel({"--run", std::string(41, 'a') + "={port}"}, "--run takes NAME=COMMAND");
  expect_wrong_duel({"--run", "a=./server 'half {port}"},
                    "--run: a quotation mark is not closed in './server 'half {port}'");
  expect_wrong_duel({"--run", "a=  "}, "--run: there is no command in 'a=  '");
  expect_wrong_duel({"--run", "a=./server --threads {threads}"},
                    "--run: the command of 'a' must hold {listen} or {port}, which say where it must listen");
}

TEST(LoadDuel, wrong_targets) {
  expect_wrong_duel({"127.0.0.1:1"}, "a server that runs already takes NAME=TARGET");
  expect_wrong_duel({"a=nowhere"}, "a: 'nowhere': the port is missing");
  expect_wrong_duel({"http", "a=127.0.0.1:1"}, "a: '127.0.0.1:1': the URL must begin with http://");
}

TEST(LoadDuel, tls_options_without_tls) {
  expect_wrong_duel({"a=127.0.0.1:1", "--tls-insecure"}, "--tls-insecure needs TLS, but no contender speaks TLS");
  expect_wrong_duel({"http", "a=http://127.0.0.1:1/", "--handshakes"}, "give --tls, or https:// in a target");
  expect_wrong_duel({"http", "a=https://127.0.0.1:1/", "--tls-ca", "/nowhere/at/all"}, "/nowhere/at/all", kFailed);
}

TEST(LoadDuel, each_contender_has_its_own_layer) {
  const DuelArguments words{.load = {.tls = {.insecure = true}},
                            .targets = {"a=https://localhost:1/", "b=http://127.0.0.1:2/", "c=https://127.0.0.1:3/"}};
  const std::expected<DuelJob, CommandTrouble> job = read_duel(Experiment::kHttp, words);
  ASSERT_TRUE(job.has_value()) << job.error().sentence;
  const std::vector<load::DuelContender>& all = job->options.contenders;
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(job->layers.size(), 3U) << "the twin has one too";
  EXPECT_EQ(all[0].host, "localhost");
  EXPECT_EQ(all[0].layer_text, "TLS without verification, full handshakes");
  EXPECT_EQ(all[1].layer, nullptr);
  EXPECT_EQ(all[1].layer_text, "");
  EXPECT_EQ(all[2].host, "");
  EXPECT_NE(all[0].layer, all[2].layer);
  EXPECT_NE(all[0].layer, all[3].layer);
}

TEST(LoadDuel, started_servers_speak_tls_with_the_option_tls) {
  const DuelArguments words{.load = {.tls = {.tls = true, .name = "site.example"}}, .runs = {kRun}};
  const std::expected<DuelJob, CommandTrouble> job = read_duel(Experiment::kHttp, words);
  ASSERT_TRUE(job.has_value()) << job.error().sentence;
  EXPECT_NE(job->options.contenders[0].layer, nullptr);
  EXPECT_EQ(job->options.contenders[0].host, "site.example");
}

TEST(LoadDuel, wrong_pids) {
  expect_wrong_duel({"a=127.0.0.1:1", "--pid", "4711"}, "--pid takes NAME=PID");
  expect_wrong_duel({"a=127.0.0.1:1", "--pid", "b=4711"}, "--pid: 'b' is not the name of a server that runs already");
  expect_wrong_beside({"--pid", "a=4711"}, "--pid: 'a' is not the name of a server that runs already");
  for (const char* pid : {"a=much", "a=0", "a=-1", "a=12x", "a=99999999999"}) {
    expect_wrong_duel({"a=127.0.0.1:1", "--pid", pid}, "--pid takes the number of a process, not '");
  }
}

TEST(LoadDuel, wrong_slices_rounds_and_precisions) {
  expect_wrong_beside({"--slice", "20"}, "--slice takes a time such as 20ms, not '20'");
  expect_wrong_beside({"--slice", "4ms"}, "a slice is at least 5ms");
  expect_wrong_beside({"--rate", "1000", "--slice", "20ms"}, "at a fixed rate a slice is at least 500ms");
  for (const char* number : {"0", "1001"}) {
    expect_wrong_beside({"--rounds", number}, "a restart has 1 to 1000 rounds");
    expect_wrong_beside({"--restarts", number}, "a duel has 1 to 1000 restarts");
  }
  expect_wrong_beside({"--budget", "long"}, "--budget takes a time such as 60s, not 'long'");
  expect_wrong_beside({"--server-threads", "0"}, "a server has 1 to 256 threads");
  expect_wrong_beside({"--pin", "hard"}, "--pin");
  expect_wrong_beside({"--live", "perhaps"}, "--live");
  for (const char* precision : {"%", "two", "2 %", "2%%"}) {
    expect_wrong_beside({"--precision", precision}, "--precision takes a share such as 2%, not '");
  }
  for (const char* precision : {"0", "0%", "100%", "-1%", "nan"}) {
    expect_wrong_beside({std::string("--precision=") + precision},
                        "--precision must be more than 0 % and less than 100 %");
  }
}

TEST(LoadDuel, contenders_that_serve_few_connections_at_a_time) {
  expect_wrong_beside({"--in-turn", "--expect-queueing", "b"},
                      "--expect-queueing: there is no contender of the name 'b'");
  expect_wrong_beside({"--expect-queueing", "a"}, "would be served while others play: give --in-turn");
  const DuelArguments words{.runs = {kRun}, .queueing = {"a"}, .in_turn = true};
  const std::expected<DuelJob, CommandTrouble> job = read_duel(Experiment::kPingPong, words);
  ASSERT_TRUE(job.has_value()) << job.error().sentence;
  EXPECT_TRUE(job->options.contenders[0].expect_queueing);
  EXPECT_TRUE(job->options.contenders[1].expect_queueing) << "the option is also for its twin";
}

TEST(LoadDuel, wrong_loads) {
  expect_wrong_beside({"--size", "0"}, "--size takes 1 to 16777216 bytes");
  expect_wrong_beside({"--threads", "2"}, "2 threads cannot share 1 connection");
  expect_wrong_beside({"--pipeline", "0"}, "--pipeline is 1 to 10000, not 0");
  expect_wrong_beside({"--rate", "much"}, "--rate takes messages a second");
  expect_wrong_beside({"--engine", "steam"}, "steam");
  expect_wrong_beside({"--duration", "1s"}, "--duration");
  expect_wrong_duel({"http", "--run", kRun, "--path", "no path"}, "must be percent-encoded");
}

TEST(LoadDuel, contenders_of_one_name) {
  expect_wrong_beside({"a=127.0.0.1:1"}, "there are two contenders named 'a'");
  expect_wrong_beside({"a-twin=127.0.0.1:1"}, "there are two contenders named 'a-twin'");
}

TEST(LoadDuel, wrong_claims) {
  expect_wrong_beside({"--claim", "a is faster"}, "--claim takes '[cpu:|rate:|p50:|p99:]A/B <= 1.05' or '>='");
  expect_wrong_beside({"--claim", "b/a <= 1"}, "A and B must be two different contenders");
  expect_wrong_beside({"--claim", "p99: a-twin/a <= 1"}, "is about latency: that takes slices of at least 500ms");
  expect_wrong_beside({"--rate", "1000", "--claim", "rate: a-twin/a <= 1"}, "is about the rate, which --rate fixes");
  expect_wrong_duel({"a=127.0.0.1:1", "--claim", "cpu: a-twin/a <= 1"},
                    "is about CPU time: name the process of a with --pid");
}

TEST(LoadDuel, a_program_that_does_not_exist) {
  const Answer answer = call_duel({"--run", "a=/nowhere/at/all {port}"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_EQ(answer.error, "peal: a: /nowhere/at/all cannot be run: No such file or directory\n");
}

TEST(LoadDuel, more_fds_than_the_limit_allows) {
  const Answer answer = call_duel({"--run", kRun, "--connections", "1000000"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, HasSubstr("contenders at a time: 2; connections of each: 1000000; these need "));
  EXPECT_THAT(answer.error, HasSubstr("ask for fewer, or give --in-turn"));
}

TEST(LoadDuel, a_report_that_cannot_be_written_is_noticed_before) {
  expect_wrong_duel({"--run", kRun, "--json", "/nowhere/at/all"}, "/nowhere/at/all cannot be written", kFailed);
}

TEST(LoadDuel, a_duel_that_fails_writes_no_new_report_and_keeps_an_old_one) {
  const test::TemporaryFolder folder;
  const std::string run = "a=/bin/false {port}";
  EXPECT_EQ(call_duel({"--run", run, "--json", folder.path("new")}).exit_code, kFailed);
  EXPECT_FALSE(std::filesystem::exists(folder.path("new")));
  std::ofstream(folder.path("old")) << "old";
  EXPECT_EQ(call_duel({"--run", run, "--json", folder.path("old")}).exit_code, kFailed);
  EXPECT_EQ(std::filesystem::file_size(folder.path("old")), 3U);
}

TEST(LoadDuel, servers_that_run_already_as_text_and_as_json) {
  const load::ScriptedServer first;
  const load::ScriptedServer second;
  const test::TemporaryFolder folder;
  const Answer answer =
      call_duel(in_many_slices({"a=" + first.address().to_string(), "b=" + second.address().to_string(), "--json",
                                folder.path("json"), "--claim", "rate: b/a >= 0.5"}));
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_EQ(answer.error, "") << "there is no live line if stderr is no terminal";
  EXPECT_THAT(answer.out, testing::StartsWith("duel pingpong: 64 bytes, 1 connection, 1 thread, closed loop\n"));
  EXPECT_THAT(answer.out, HasSubstr("\nmessages/s, against a\n  b "));
  EXPECT_THAT(answer.out, HasSubstr("\nclaims\n  cannot tell  rate: b/a >= 0.5: "));
  const nlohmann::json report = nlohmann::json::parse(folder.read("json"));
  EXPECT_EQ(report["tool"], "peal load duel");
  EXPECT_EQ(report["contenders"].size(), 3U);
  EXPECT_EQ(report["slices"].size(), 60U);
  EXPECT_EQ(report["contenders"][1]["target"], second.address().to_string());
}

TEST(LoadDuel, one_contender_at_a_time_with_idle_connections) {
  const load::ScriptedServer first;
  const load::ScriptedServer second;
  const Answer answer =
      call_duel(in_many_slices({"a=" + first.address().to_string(), "b=" + second.address().to_string(), "--in-turn",
                                "--idle-connections", "3"}));
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("3 idle ones beside, closed loop\none contender at a time; "));
}

TEST(LoadDuel, framed_echo_and_http) {
  const load::ScriptedServer echo;
  EXPECT_THAT(call_duel(briefly({"echo", "a=" + echo.address().to_string(), "--size", "0"})).out,
              testing::StartsWith("duel echo: 0 bytes, "));
  const load::ScriptedHttp http([](size_t, size_t, const std::string& text) {
    EXPECT_TRUE(text.starts_with("GET / HTTP/1.1\r\n")) << text;
    return load::ScriptedAnswer{};
  });
  EXPECT_THAT(call_duel(briefly({"http", "a=" + http.url()})).out, testing::StartsWith("duel http: "));
}

TEST(LoadDuel, no_contender_answers) {
  const load::ScriptedServer server;  // sends each request back, which is no HTTP response
  const Answer answer = call_duel(briefly({"http", fmt::format("a=http://{}/", server.address().to_string())}));
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, testing::StartsWith("peal: not a single message came back: "));
  EXPECT_EQ(answer.out, "");
}

TEST(LoadDuel, json_on_stdout_sends_the_report_to_stderr) {
  const load::ScriptedServer server;
  const Answer answer = call_duel(briefly({"a=" + server.address().to_string(), "--json", "-"}));
  EXPECT_EQ(nlohmann::json::parse(answer.out)["tool"], "peal load duel");
  EXPECT_THAT(answer.error, testing::StartsWith("duel pingpong: "));
}

TEST(LoadDuel, a_live_line_without_a_terminal_names_every_pair) {
  const load::ScriptedServer server;
  std::vector<std::string> words = {"--slice",  "5ms", "--rounds", "1",     "--restarts", "2",
                                    "--budget", "10s", "--engine", "epoll", "--live",     "on"};
  for (const char* name : {"first", "second", "third", "fourth"}) {
    words.push_back(fmt::format("contender_{}={}", name, server.address().to_string()));
  }
  const Answer answer = call_duel(std::move(words));
  EXPECT_THAT(answer.error, HasSubstr(" | contender_fourth/contender_first ")) << "the line has over 100 columns";
}

TEST(LoadDuel, live_lines_without_a_terminal) {
  const load::ScriptedServer server;
  const Answer answer = call_duel(briefly({"a=" + server.address().to_string(), "--live", "on"}));
  EXPECT_THAT(answer.error, testing::StartsWith("restart 1 of 1, round 1 of 1, "));
  EXPECT_THAT(answer.error, Not(HasSubstr("\x1b"))) << "no terminal, no escapes";
}

TEST(LoadDuel, a_server_that_sends_garbage_fails_a_gate) {
  const load::ScriptedServer server(load::Manner::kFlipByte, 64);
  const Answer answer = call_duel(briefly({"a=" + server.address().to_string()}));
  EXPECT_EQ(answer.exit_code, kGateFailed);
  EXPECT_THAT(answer.out, HasSubstr("\nINVALID a: "));
}

TEST(LoadDuel, servers_are_started_and_none_runs_after_the_end) {
  const std::string serve = std::string(PEAL_BIN_DIR) + "/peal serve ";
  Program duel(in_many_slices({"load", "duel", "http", "--run", "a=" + serve + "http --listen {listen}", "--run",
                               "b=" + serve + "http --listen {host}:{port}", "--path", "/collect"}));
  EXPECT_EQ(duel.exit_code(), kDone) << duel.errors();
  EXPECT_THAT(duel.output(), HasSubstr("\nserver CPU per message, against a\n"));
  EXPECT_TRUE(duel.others().empty());
}

class LoadDuelEnds : public testing::TestWithParam<int> {};

TEST_P(LoadDuelEnds, no_server_stays) {
  const std::string peal = std::string(PEAL_BIN_DIR) + "/peal";
  const std::string serve = peal + " serve pingpong --listen {listen}";
  Program duel("/bin/sh", {"-c",         "exec \"$@\" 2>&1",
                           "sh",         peal,
                           "load",       "duel",
                           "--run",      "a=" + serve,
                           "--run",      "b=" + serve,
                           "--slice",    "50ms",
                           "--rounds",   "1",
                           "--budget",   "1h",
                           "--restarts", "1000",
                           "--live",     "on"});
  EXPECT_THAT(duel.line(), testing::StartsWith("restart 1 of 1000, round 1 of 1, "));
  EXPECT_THAT(duel.line(), testing::StartsWith("restart 2 of 1000, round 1 of 1, ")) << "one restart is complete";
  const int signal = GetParam();
  duel.signal(signal);
  EXPECT_EQ(duel.exit_code(), signal == SIGKILL ? -SIGKILL : kInterrupted);
  if (signal != SIGKILL) {
    EXPECT_THAT(duel.output(), testing::EndsWith("\nNOISY the duel was interrupted\n"));
    EXPECT_TRUE(duel.others().empty());
  }
  EXPECT_TRUE(duel.others_end());
}

INSTANTIATE_TEST_SUITE_P(by, LoadDuelEnds, testing::Values(SIGINT, SIGTERM, SIGKILL));

TEST(LoadDuel, a_command_is_split_as_a_shell_would) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_command(""), Words{});
  EXPECT_EQ(split_command(" \t\n "), Words{});
  EXPECT_EQ(split_command("./a  b\tc\n"), (Words{"./a", "b", "c"}));
  EXPECT_EQ(split_command("a 'b c' \"d  e\" f'g h'i"), (Words{"a", "b c", "d  e", "fg hi"}));
  EXPECT_EQ(split_command("'' a \"\""), (Words{"", "a", ""}));
  EXPECT_EQ(split_command("a\\ b \\' \"\\\"\" '\\'"), (Words{"a b", "'", "\"", "\\"}));
  EXPECT_EQ(split_command("$HOME * ~"), (Words{"$HOME", "*", "~"})) << "nothing is expanded";
  EXPECT_EQ(split_command("a\\"), (Words{"a\\"}));
  EXPECT_EQ(split_command("'a"), std::nullopt);
  EXPECT_EQ(split_command("a \"b 'c'"), std::nullopt);
}

}  // namespace
}  // namespace peal::cli
