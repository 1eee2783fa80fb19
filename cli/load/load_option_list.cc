// SPDX-License-Identifier: BSD-3-Clause
// The options of `peal load pingpong|echo|http` and their help texts.
#include <climits>

#include <cli/load/load_arguments.h>
#include <cli/number_option.h>
#include <cli/one_of.h>

namespace peal::cli {
namespace {

constexpr double kLatestSecond = 1e10;  // seconds since 1970: the year 2286

void add_shape(CLI::App& command, LoadArguments& words) {
  add_number(command, "-c,--connections", words.connections, "Number of connections, over all threads");
  add_number(command, "-t,--threads", words.threads, "Number of threads, each with an event loop of its own");
  add_number(command, "--pipeline", words.pipeline,
             "Number of messages that may be in flight on a connection, at most 10000");
  command.add_option("-r,--rate", words.rate,
                     "Messages a second over all connections, such as 20000/s or 20k/s; they are sent on time, however "
                     "slow the server is (default: no rate; a connection sends its next message as soon as an answer "
                     "is back)");
  command.add_option("--timeout", words.timeout,
                     "How long the answer to a message may take, such as 1s; after that, the message and its "
                     "connection have failed (default: no limit)");
}

void add_times(CLI::App& command, LoadArguments& words) {
  command.add_option("-d,--duration", words.duration, "How long to measure, such as 10s or 2m")->capture_default_str();
  command
      .add_option("--warmup", words.warm_up,
                  "How long to send before the measurement begins, such as 1s, from when all connections are open")
      ->capture_default_str();
  command
      .add_option("--interval", words.interval,
                  "Length of the intervals within the run that have figures of their own, such as 1s, at least 10ms")
      ->capture_default_str();
  add_number(command, "--start-at", words.start_at, 1.0, kLatestSecond,
             "Send nothing before this time, in seconds since 1970, so that generators on several hosts begin together "
             "(default: begin at once)");
}

void add_schedule(CLI::App& command, LoadArguments& words) {
  command.add_option("--arrivals", words.arrivals,
                     "When messages are due; constant or poisson (both at --rate), 'ramp:1000/s..20000/s over 30s', "
                     "'step:1000/s,2000/s every 5s', 'burst:100 every 50ms', or file:PATH with a time in seconds on "
                     "each line (default: constant, if --rate is given)");
  command.add_option("--deadline", words.deadline,
                     "Drop a message that could not be sent within this time after it was due, such as 10ms; needs "
                     "--rate or --arrivals (default: send all messages)");
  add_number(command, "--seed", words.seed,
             "Seed of the random numbers, for Poisson arrivals and for --requests-per-connection A-B");
  command.add_option(
      "--slo", words.slos,
      "Objective for --find-max; for example p99=1ms, max=20ms or errors=0.1%; may be given several times "
      "(default: every message that is due is answered)");
  command.add_flag("--find-max", words.find_max,
                   "Search for the highest rate that meets every --slo, in many runs of --duration; the first run is "
                   "at --rate (default: 1000/s)");
}

void add_life(CLI::App& command, LoadArguments& words) {
  command.add_option("--requests-per-connection", words.requests_per_connection,
                     "Close a connection and open a new one after this number of requests: N, or a random number A-B, "
                     "such as 10-100 (default: no limit)");
  command
      .add_option("--close", words.close,
                  "How a connection is closed after --requests-per-connection: fin (in order) or rst (reset)")
      ->capture_default_str()
      ->check(one_of({"fin", "rst"}));
  command
      .add_option("--connect-timeout", words.connect_timeout,
                  "How long it may take to open all connections, such as 10s")
      ->capture_default_str();
  command.add_option("--source-addresses", words.sources,
                     "IP addresses to connect from, in turn; for example 127.0.0.2,127.0.0.5-127.0.0.9,10.0.0.0/28 "
                     "(default: the kernel chooses)");
}

void add_connecting(CLI::App& command, LoadArguments& words) {
  command.add_option("--connect-rate", words.connect_rate,
                     "Most connections that are opened a second, such as 500/s (default: no limit)");
  command.add_option("--ramp", words.ramp,
                     "Open all connections evenly over this time, such as 10s; give it instead of --connect-rate");
  command
      .add_option("--grace", words.grace, "How long to wait at the end for answers that are still missing, such as 1s")
      ->capture_default_str();
  command.add_flag("--expect-queueing", words.expect_queueing,
                   "Expect a server that serves only some connections at a time: connections that still wait at the "
                   "end are counted, but are no failures");
  add_number(command, "--idle-connections", words.idle_connections,
             "Number of further connections, which are open but send nothing");
}

void add_engine(CLI::App& command, LoadArguments& words) {
  command.add_option("--engine", words.engine, kEngineHelp)->type_name(kEngineWords)->capture_default_str();
  command.add_option("--spin", words.spin, kSpinHelp)->capture_default_str();
}

void add_outputs(CLI::App& command, LoadArguments& words) {
  command.add_option("--json", words.json,
                     "Write the figures to this file, as JSON; -: to stdout, and the report to stderr");
  command.add_option("--ndjson", words.ndjson,
                     "Write a line of JSON to this file at the end of each interval; -: to stdout, and the report to "
                     "stderr");
  command.add_option("--hdr", words.hdr,
                     "Write the latencies of each interval to this file, as an HdrHistogram log; -: to stdout, and the "
                     "report to stderr");
  command.add_option("--openmetrics", words.open_metrics,
                     "Write the figures to this file, as OpenMetrics text; -: to stdout, and the report to stderr");
  command
      .add_option("--live", words.live,
                  "Show a line with the latest figures on stderr: on, off, or auto, which shows it only on a terminal")
      ->capture_default_str()
      ->check(one_of({"on", "off", "auto"}));
  command.add_flag("--debug", words.debug, "Log each failure on stderr when it happens");
}

void add_http(CLI::App& command, LoadArguments& words) {
  command.add_option("--method", words.method, "Method of the requests, such as POST")->capture_default_str();
  command
      .add_option("--header", words.headers,
                  "Header field of the requests, as 'Name: value'; may be given several times")
      ->allow_extra_args(false);
  command.add_option("--body", words.body,
                     "Body of the requests: a text, or @FILE for a file of at most 16MiB (default: no body)");
  add_number(command, "--expect-status", words.expect_status, 100, 599,
             "Status that every answer must have; any other is a failure (default: any from 200 to 399)");
  command.add_option("--expect-length", words.expect_length,
                     "Length that the body of every answer must have, in bytes or such as 16KiB (default: any)");
  command.add_option("--expect-body", words.expect_body,
                     "Body that every answer must have: a text, or @FILE for a file of at most 16MiB (default: any)");
}

}  // namespace

void add_shared_options(CLI::App& command, Experiment experiment, LoadArguments& words) {
  if (experiment == Experiment::kHttp) {
    add_http(command, words);
  } else {
    command.add_option("--size", words.size, "Size of a message, in bytes or such as 16KiB, at most 16MiB")
        ->capture_default_str();
  }
  add_shape(command, words);
  add_life(command, words);
  add_engine(command, words);
}

void add_load_options(CLI::App& command, Experiment experiment, LoadArguments& words) {
  command
      .add_option("TARGET", words.target,
                  experiment == Experiment::kHttp ? "URL of the server: http://HOST[:PORT]/PATH, or with https://"
                                                  : "Address of the server: HOST:PORT, [HOST]:PORT or unix:PATH")
      ->required();
  add_shared_options(command, experiment, words);
  add_load_tls_options(command, experiment == Experiment::kHttp ? TlsAsked::kByUrl : TlsAsked::kByOption, words.tls);
  add_times(command, words);
  add_schedule(command, words);
  add_connecting(command, words);
  add_number(command, "--server-pid", words.server_pid, 1, INT_MAX,
             "Process id of the server: its CPU time, memory and context switches are measured, with those of its "
             "child processes (default: none)");
  add_outputs(command, words);
}

}  // namespace peal::cli
