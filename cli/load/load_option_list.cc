// SPDX-License-Identifier: BSD-3-Clause
// The options of `peal load pingpong|echo|http`, as --help shows them.
#include <climits>

#include <cli/load/load_arguments.h>
#include <cli/number_option.h>

namespace peal::cli {
namespace {

constexpr double kLatestSecond = 1e10;  // in the year 2286

void add_shape(CLI::App& command, LoadArguments& words) {
  add_number(command, "--connections", words.connections, "Connections, over all threads");
  add_number(command, "--threads", words.threads, "Threads, each with a loop of its own");
  add_number(command, "--pipeline", words.pipeline, "Messages in flight on a connection");
  command.add_option("--rate", words.rate,
                     "Messages a second over all connections, sent when they are due whatever the server does; "
                     "without it each connection sends again as soon as its answer is back");
  command.add_option("--timeout", words.timeout, "What is not answered by then fails, with its connection");
}

void add_times(CLI::App& command, LoadArguments& words) {
  command.add_option("--duration", words.duration, "How long is measured")->capture_default_str();
  command.add_option("--warmup", words.warm_up, "How long runs before, once all connections are open")
      ->capture_default_str();
  command.add_option("--interval", words.interval, "Of the series of figures within the run")->capture_default_str();
  add_number(command, "--start-at", words.start_at, 1.0, kLatestSecond,
             "Send nothing before so many seconds since 1970: generators on several hosts begin together");
}

void add_schedule(CLI::App& command, LoadArguments& words) {
  command.add_option("--arrivals", words.arrivals,
                     "When they are due: constant, poisson (both at --rate), ramp:1000/s..20000/s [over 30s], "
                     "step:1000/s,2000/s every 5s, burst:100 every 50ms, file:PATH");
  command.add_option("--deadline", words.deadline, "Shed what could not be sent so long after it was due");
  add_number(command, "--seed", words.seed, "Of what is drawn: Poisson arrivals, requests a connection");
  command.add_option("--slo", words.slos, "With --find-max, and several times: p99=1ms, max=20ms, errors=0.1%");
  command.add_flag("--find-max", words.find_max,
                   "Look for the highest rate that keeps every --slo, from --rate (1000/s) on; each trial is a run");
}

void add_life(CLI::App& command, LoadArguments& words) {
  command.add_option("--requests-per-connection", words.requests_per_connection,
                     "N or A-B: then the connection is closed and opened anew");
  command.add_option("--close", words.close, "How it is closed then: fin or rst")
      ->capture_default_str()
      ->check(CLI::IsMember({"fin", "rst"}));
  command.add_option("--connect-timeout", words.connect_timeout, "By then all connections must be open")
      ->capture_default_str();
  command.add_option("--source-addresses", words.sources,
                     "Connect from these, in turn: 127.0.0.2,127.0.0.5-127.0.0.9,10.0.0.0/28");
}

void add_connecting(CLI::App& command, LoadArguments& words) {
  command.add_option("--connect-rate", words.connect_rate, "Connections opened a second, at most");
  command.add_option("--ramp", words.ramp, "The same as a time: all connections are opened within it");
  command.add_option("--grace", words.grace, "How long is waited at the end for what is still in flight")
      ->capture_default_str();
  command.add_flag("--expect-queueing", words.expect_queueing,
                   "The server answers some connections at a time: those whose turn did not come are counted, and are "
                   "no failures");
  add_number(command, "--idle-connections", words.idle_connections, "Held open beside the others, and silent");
}

void add_engine(CLI::App& command, LoadArguments& words) {
  command.add_option("--engine", words.engine, "auto, epoll or io_uring")->capture_default_str();
  command.add_option("--spin", words.spin, "Look for events before sleeping: off, auto or a bound such as 50us")
      ->capture_default_str();
}

void add_outputs(CLI::App& command, LoadArguments& words) {
  command.add_option("--json", words.json, "Write the figures to this file; -: to stdout, and the report to stderr");
  command.add_option("--ndjson", words.ndjson, "Write a line of JSON for each interval as it ends; -: to stdout");
  command.add_option("--hdr", words.hdr, "Write an HdrHistogram log of the intervals' latencies");
  command.add_option("--openmetrics", words.open_metrics, "Write the figures as OpenMetrics text");
  command.add_option("--live", words.live, "A live line on stderr: on, off, or auto: where that is a terminal")
      ->capture_default_str()
      ->check(CLI::IsMember({"on", "off", "auto"}));
  command.add_flag("--debug", words.debug, "Say each failure as it happens, on stderr");
}

void add_http(CLI::App& command, LoadArguments& words) {
  command.add_option("--method", words.method, "Of the request")->capture_default_str();
  command.add_option("--header", words.headers, "'Name: value', several times")->allow_extra_args(false);
  command.add_option("--body", words.body, "Text, or @FILE of at most 16 MiB");
  add_number(command, "--expect-status", words.expect_status, 100, 599,
             "Any other status is a failure; without it 200 to 399 pass");
  command.add_option("--expect-length", words.expect_length, "Bytes of each answer's body");
  command.add_option("--expect-body", words.expect_body, "Each answer's body: text, or @FILE of at most 16 MiB");
}

}  // namespace

void add_shared_options(CLI::App& command, Experiment experiment, LoadArguments& words) {
  if (experiment == Experiment::kHttp) {
    add_http(command, words);
  } else {
    command.add_option("--size", words.size, "Bytes of a message")->capture_default_str();
  }
  add_shape(command, words);
  add_life(command, words);
  add_engine(command, words);
}

void add_load_options(CLI::App& command, Experiment experiment, LoadArguments& words) {
  command
      .add_option("TARGET", words.target,
                  experiment == Experiment::kHttp ? "URL: http://HOST[:PORT]/PATH, or https://"
                                                  : "Server: HOST:PORT, [HOST]:PORT or unix:PATH")
      ->required();
  add_shared_options(command, experiment, words);
  add_load_tls_options(command, experiment == Experiment::kHttp ? TlsAsked::kByUrl : TlsAsked::kByOption, words.tls);
  add_times(command, words);
  add_schedule(command, words);
  add_connecting(command, words);
  add_number(command, "--server-pid", words.server_pid, 1, INT_MAX,
             "Process whose CPU, memory and context switches are read, with its descendants");
  add_outputs(command, words);
}

}  // namespace peal::cli
