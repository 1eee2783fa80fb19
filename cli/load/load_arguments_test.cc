// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_arguments.h>

#include <gtest/gtest.h>

#include <load/session/http_protocol.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

void expect_load_refused(int exit_code, std::vector<std::string> words, std::string_view sentence) {
  expect_refused(call_load(std::move(words)), exit_code, sentence);
}

void expect_called_wrongly(std::vector<std::string> words, std::string_view sentence) {
  expect_load_refused(kCalledWrongly, std::move(words), sentence);
}

// Expects that `peal load pingpong` refuses these options. No server runs: options are checked before a connection is
// opened.
void expect_wrong_option(std::vector<std::string> words, std::string_view sentence) {
  words.insert(words.begin(), {"pingpong", "127.0.0.1:1"});
  expect_called_wrongly(std::move(words), sentence);
}

TEST(LoadArguments, wrong_targets) {
  expect_called_wrongly({"pingpong", "nowhere"}, "'nowhere': the port is missing");
  expect_called_wrongly({"pingpong", "host:port"}, "'host:port': the port is no number from 0 to 65535");
  expect_load_refused(kFailed, {"pingpong", "name.invalid:80"}, "the name 'name.invalid' has no address");
  expect_called_wrongly({"http", "127.0.0.1:80"}, "the URL must begin with http://");
  expect_called_wrongly({"pingpong"}, "TARGET is required");
}

TEST(LoadArguments, wrong_times_and_sizes) {
  expect_wrong_option({"--size", "0"}, "--size takes 1 to 16777216 bytes");
  expect_called_wrongly({"echo", "127.0.0.1:1", "--size", "-1"}, "--size takes 0 to 16777216 bytes");
  expect_wrong_option({"--duration", "10"}, "--duration takes a time such as 10s");
  expect_wrong_option({"--warmup", "soon"}, "--warmup takes a time");
  expect_wrong_option({"--interval", "1ms"}, "--interval is at least 10ms");
  expect_wrong_option({"--deadline", "1s"}, "--deadline sheds messages of a schedule");
  expect_wrong_option({"--timeout", "never"}, "--timeout takes a time");
  expect_wrong_option({"--grace", "a while"}, "--grace takes a time");
  expect_wrong_option({"--start-at", "1000"}, "--start-at lies in the past");
  expect_wrong_option({"--start-at", "5e9"}, "--start-at lies more than a week ahead");
  expect_wrong_option({"--start-at", "nan"}, "--start-at");
}

TEST(LoadArguments, wrong_rates_and_connections) {
  expect_wrong_option({"--rate", "much"}, "--rate takes messages a second");
  expect_wrong_option({"--arrivals", "sometimes"}, "sometimes");
  expect_wrong_option({"--arrivals", "poisson"}, "--rate");
  expect_wrong_option({"--spin", "wild"}, "--spin takes off, auto or a bound");
  expect_wrong_option({"--threads", "2"}, "2 threads cannot share 1 connection");
  expect_wrong_option({"--pipeline", "0"}, "--pipeline is 1 to 10000, not 0");
  expect_wrong_option({"--requests-per-connection", "5-2"}, "--requests-per-connection takes a number or a range");
  expect_wrong_option({"--close", "slam"}, "--close");
  expect_wrong_option({"--connect-rate", "5/s", "--ramp", "10s"}, "--ramp and --connect-rate set the same rate");
  expect_wrong_option({"--ramp", "0s"}, "--ramp takes a time");
  expect_wrong_option({"--source-addresses", "here"}, "--source-addresses: ");
  expect_wrong_option({"--live", "maybe"}, "--live");
}

TEST(LoadArguments, outputs_and_searches_that_exclude_each_other) {
  expect_wrong_option({"--json", "-", "--ndjson", "-"}, "only one of --json, --ndjson, --hdr and --openmetrics");
  expect_wrong_option({"--slo", "p99=1ms"}, "--slo needs --find-max");
  expect_wrong_option({"--slo", "p99"}, "--slo takes p99=1ms");
  expect_wrong_option({"--find-max", "--hdr", "x"}, "leave --ndjson, --hdr and --openmetrics out");
  expect_wrong_option({"--find-max", "--arrivals", "burst:1 every 1s"}, "--find-max looks for one rate");
}

TEST(LoadArguments, wrong_http_options) {
  const std::string url = "http://127.0.0.1:1/";
  expect_called_wrongly({"http", url, "--header", "nonsense"}, "--header takes 'Name: value', not 'nonsense'");
  expect_load_refused(kFailed, {"http", url, "--body", "@/nowhere/at/all"}, "--body: /nowhere/at/all cannot be read");
  expect_load_refused(kFailed, {"http", url, "--expect-body", "@/nowhere"}, "--expect-body: /nowhere cannot be read");
  for (const char* option : {"--body", "--expect-body"}) {
    expect_load_refused(kFailed, {"http", url, option, "@/"}, "/ cannot be read: Is a directory");
    expect_load_refused(kFailed, {"http", url, option, "@/dev/zero"}, "/dev/zero is larger than 16777216 bytes");
  }
  expect_called_wrongly({"http", url, "--expect-length", "long"}, "--expect-length takes bytes");
  expect_called_wrongly({"http", url, "--expect-status", "99"}, "--expect-status");
  expect_called_wrongly({"http", url, "--header", "Bad Name: x"}, "");
}

TEST(LoadArguments, an_empty_file_is_an_empty_body) {
  LoadArguments words;
  words.body = words.expect_body = "@/dev/null";
  const auto spoken = make_protocol(Experiment::kHttp, words, 1, "http://127.0.0.1:1/");
  ASSERT_TRUE(spoken.has_value());
  const load::HttpLoad& http = dynamic_cast<const load::HttpProtocol&>(*spoken->protocol).load();
  EXPECT_EQ(http.body, "");
  EXPECT_EQ(http.expected_body, "") << "an answer must have an empty body, too";
}

TEST(LoadArguments, wrong_tls_options) {
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--tls-ca", "x"},
                                                 {"--tls-insecure"},
                                                 {"--tls-name", "a"},
                                                 {"--tls-cert", "x"},
                                                 {"--tls-key", "x"},
                                                 {"--tls-resume"},
                                                 {"--handshakes"}}) {
    expect_wrong_option(option, option.front() + " needs TLS: give --tls\n");
    std::vector<std::string> words{"http", "http://127.0.0.1:1/"};
    words.insert(words.end(), option.begin(), option.end());
    expect_called_wrongly(std::move(words), option.front() + " needs TLS: give an https:// URL\n");
  }
  expect_wrong_option({"--tls", "--tls-ca", "x", "--tls-insecure"}, "exclude each other: give one of them");
  expect_wrong_option({"--tls", "--tls-cert", "x"}, "--tls-cert and --tls-key must be given together");
  expect_wrong_option({"--tls", "--handshakes", "--requests-per-connection", "2"}, "--handshakes makes one request");
  expect_load_refused(kFailed, {"pingpong", "127.0.0.1:1", "--tls", "--tls-ca", "/nowhere/at/all"}, "/nowhere/at/all");
  expect_called_wrongly({"pingpong", "unix:/tmp/x", "--tls"}, "a unix socket has no host name");
  expect_called_wrongly({"http", "https://127.0.0.1:1/", "--tls"}, "--tls");
}

TEST(LoadArguments, the_name_that_a_server_must_prove_to_have) {
  const LoadTlsArguments none;
  const LoadTlsArguments named{.name = "other.example"};
  for (const auto& [target, host] :
       {std::pair("example.org:443", "example.org"), std::pair("127.0.0.1:443", ""), std::pair("[::1]:443", ""),
        std::pair("unix:/tmp/x", ""), std::pair("localhost:1", "localhost")}) {
    EXPECT_EQ(name_to_verify_of(none, target), host) << target;
    EXPECT_EQ(name_to_verify_of(named, target), "other.example") << target;
  }
  EXPECT_EQ(name_to_verify(none, "::1"), "") << "an address is verified as an address";
  EXPECT_EQ(name_to_verify(none, "example.org"), "example.org");
  EXPECT_EQ(name_to_verify(none, "unix"), "unix") << "a name like any other";
}

TEST(LoadArguments, the_job_of_tls_options) {
  LoadArguments words{.target = "localhost:4000", .tls = {.tls = true, .handshakes = true}};
  std::expected<LoadJob, CommandTrouble> job = read_words(Experiment::kEcho, words);
  ASSERT_TRUE(job.has_value()) << job.error().sentence;
  EXPECT_EQ(job->options.layer, job->layer.get());
  EXPECT_NE(job->options.layer, nullptr);
  EXPECT_EQ(job->options.host, "localhost");
  EXPECT_EQ(job->options.layer_text, "TLS, full handshakes");
  EXPECT_EQ(job->options.requests_per_connection.most, 1U);
  words.tls = {.tls = true, .insecure = true, .resume = true};
  job = read_words(Experiment::kEcho, words);
  EXPECT_EQ(job->options.layer_text, "TLS without verification, sessions resumed");
  EXPECT_TRUE(job->options.requests_per_connection.endless());
  words.tls = {};
  job = read_words(Experiment::kEcho, words);
  EXPECT_EQ(job->options.layer, nullptr);
  EXPECT_EQ(job->options.layer_text, "");
}

TEST(LoadArguments, wrong_files_for_merge_and_compare) {
  expect_called_wrongly({"compare", "a.json"}, "give two files");
  expect_called_wrongly({"compare", "a.json", "a.json"}, "a.json is given twice");
  expect_called_wrongly({"merge"}, "FILES is required");
  const test::TemporaryFolder folder;
  expect_load_refused(kFailed, {"merge", folder.path("none")}, "none cannot be read: No such file or directory");
  std::ofstream(folder.path("odd")) << "{}";
  expect_load_refused(kFailed, {"compare", folder.path("odd"), folder.path("other")},
                      "odd: it is not a report of peal load");
}

TEST(LoadArguments, the_job_of_many_options) {
  const LoadArguments words{.target = "localhost:4000",
                            .connections = 100,
                            .size = "1KiB",
                            .arrivals = "poisson",
                            .requests_per_connection = "10-20",
                            .close = "rst",
                            .ramp = "5s",
                            .sources = "127.0.0.2-127.0.0.4",
                            .grace = "50ms"};
  LoadArguments with_rate = words;
  with_rate.rate = "2k/s";
  with_rate.deadline = "10ms";
  const std::expected<LoadJob, CommandTrouble> job = read_words(Experiment::kEcho, with_rate);
  ASSERT_TRUE(job.has_value()) << job.error().sentence;
  EXPECT_EQ(job->options.target.port(), 4000);
  EXPECT_EQ(job->options.target_text, "localhost:4000") << "reports quote what was given";
  EXPECT_EQ(job->options.size, 1024U);
  EXPECT_EQ(job->options.connect_rate, 20);
  EXPECT_EQ(job->options.requests_per_connection.most, 20U);
  EXPECT_TRUE(job->options.reset_close);
  EXPECT_EQ(job->options.sources.size(), 3U);
  EXPECT_EQ(job->options.grace, 50ms);
  EXPECT_EQ(job->options.deadline, 10ms);
  EXPECT_EQ(job->schedule, "poisson 2000/s");
  EXPECT_EQ(job->request, "1024 bytes");
  EXPECT_EQ(job->protocol->name(), "echo");
}

TEST(LoadArguments, a_search_without_a_rate_starts_at_1000) {
  const LoadArguments words{.target = "127.0.0.1:1", .slos = {"p99=1ms", "errors=1%"}, .find_max = true};
  const std::expected<LoadJob, CommandTrouble> job = read_words(Experiment::kPingPong, words);
  ASSERT_TRUE(job.has_value()) << job.error().sentence;
  EXPECT_EQ(job->rate, 1000);
  EXPECT_EQ(job->objectives.size(), 2U);
  EXPECT_EQ(job->arrivals, "constant");
}

}  // namespace
}  // namespace peal::cli
