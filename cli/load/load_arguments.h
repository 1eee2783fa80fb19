// SPDX-License-Identifier: BSD-3-Clause
// What stands on the command line of `peal load pingpong|echo|http`, and the job it asks for.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cli/command.h>
#include <cli/load/load_tls.h>
#include <load/plan/load_options.h>
#include <load/plan/slo.h>
#include <load/session/session.h>

namespace peal::cli {

enum class Experiment : uint8_t { kPingPong, kEcho, kHttp };

// As they stand there.
struct LoadArguments {
  std::string target;
  size_t connections = 1;
  size_t threads = 1;
  std::string size = "64";
  size_t pipeline = 1;
  std::string duration = "10s";
  std::string warm_up = "1s";
  std::string interval = "1s";
  std::string rate;
  std::string arrivals;
  std::string deadline;
  std::string timeout;
  uint64_t seed = 1;
  std::string requests_per_connection;
  std::string close = "fin";
  std::string connect_rate;
  std::string ramp;
  size_t idle_connections = 0;
  std::string sources;
  std::string connect_timeout = "10s";
  std::string grace = "1s";
  bool expect_queueing = false;
  std::string engine = "auto";
  std::string spin = "off";
  int server_pid = 0;
  double start_at = 0;
  bool debug = false;
  std::vector<std::string> slos;
  bool find_max = false;
  LoadTlsArguments tls;
  // Where the figures go; "-": stdout.
  std::string json;
  std::string ndjson;
  std::string hdr;
  std::string open_metrics;
  std::string live = "auto";
  // http
  std::string method = "GET";
  std::vector<std::string> headers;
  std::string body;
  int expect_status = 0;
  std::string expect_length;
  std::string expect_body;
};

struct LoadJob {
  std::unique_ptr<StreamLayer> layer;  // what the options' is; null: none
  load::LoadOptions options;
  std::unique_ptr<load::Protocol> protocol;
  std::string request;   // what a message is, in a few words
  std::string arrivals;  // the kind of schedule, as parse_arrivals() reads it; empty: closed loop
  std::string schedule;  // the same, as reports show it
  double rate = 0;       // what --rate said; 0: nothing
  std::vector<load::Slo> objectives;
};

void add_load_options(CLI::App& command, Experiment experiment, LoadArguments& words);
// Of them, those that a duel takes: what goes round, on which connections, at which rate.
void add_shared_options(CLI::App& command, Experiment experiment, LoadArguments& words);

// Looks up the target's name, and reads the files that the words name.
std::expected<LoadJob, CommandTrouble> read_words(Experiment experiment, const LoadArguments& words);
// The same without a target: the job has neither an address nor a protocol.
std::expected<LoadJob, CommandTrouble> read_load_options(const LoadArguments& words);

// What goes round, as the words say; `target` is a URL where the experiment is http, and else does not matter.
struct Spoken {
  std::unique_ptr<load::Protocol> protocol;
  std::string request;         // in a few words
  std::optional<size_t> size;  // of a message, where --size says it
};
std::expected<Spoken, CommandTrouble> make_protocol(Experiment experiment, const LoadArguments& words, size_t pipeline,
                                                    const std::string& target);
// What connections to the target run over; null: nothing.
std::expected<std::unique_ptr<StreamLayer>, CommandTrouble> make_layer(Experiment experiment,
                                                                       const LoadArguments& words,
                                                                       const std::string& target);
// Whom the target is to prove to be; empty: whoever has its address.
std::string target_host(Experiment experiment, const LoadArguments& words, const std::string& target);
// Where HOST:PORT, or a URL, leads. Looks up its name.
std::expected<SocketAddress, CommandTrouble> find_server(Experiment experiment, const std::string& target);

// "constant" at 500 a second as "constant 500/s"; what has its own rates, as it is.
std::string schedule_text(const std::string& arrivals, double rate);

}  // namespace peal::cli
