// SPDX-License-Identifier: BSD-3-Clause
// The options of `peal load pingpong|echo|http`, and the job that they describe.
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

// The values of the options of `peal load pingpong|echo|http`.
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
  // The paths of the files for the results. If a path is empty, that file is not written. The path "-" means stdout.
  // Only one of the four files may go to stdout, so that results do not mix. `hdr` is for the latencies of each
  // interval, in the format of an HdrHistogram log.
  std::string json;
  std::string ndjson;
  std::string hdr;
  std::string open_metrics;
  std::string live = "auto";
  // These options belong only to `peal load http`.
  std::string method = "GET";
  std::vector<std::string> headers;
  std::string body;
  int expect_status = 0;
  std::string expect_length;
  std::string expect_body;
};

struct LoadJob {
  std::unique_ptr<StreamLayer> layer;  // null without TLS; otherwise options.layer points to it
  load::LoadOptions options;
  std::unique_ptr<load::Protocol> protocol;
  std::string request;   // for reports: describes a message, such as "64 bytes"
  std::string arrivals;  // when messages are sent, such as "poisson"; empty for a closed loop
  std::string schedule;  // for reports: when messages are sent, such as "poisson 500/s"
  double rate = 0;       // messages a second; 0 if neither --rate nor --find-max sets a rate
  std::vector<load::Slo> objectives;
};

void add_load_options(CLI::App& command, Experiment experiment, LoadArguments& words);
// Adds the options that `peal load` and `peal load duel` both have: those about messages, connections and the rate.
void add_shared_options(CLI::App& command, Experiment experiment, LoadArguments& words);

// Makes the job from the options. Blocks while it looks up the name of the target and reads the files that the options
// name.
std::expected<LoadJob, CommandTrouble> read_words(Experiment experiment, const LoadArguments& words);
// Makes a job for a duel. The job has no address, no protocol and no TLS layer, because a duel has several servers. The
// duel makes these three for each server.
std::expected<LoadJob, CommandTrouble> read_load_options(const LoadArguments& words);

// Spoken: the protocol that is used with a server, and facts about its messages.
struct Spoken {
  std::unique_ptr<load::Protocol> protocol;
  std::string request;         // for reports: describes a message, such as "64 bytes"
  std::optional<size_t> size;  // bytes of a message; empty for http, which has no --size
};
// Makes the protocol of `experiment`. Only http uses `pipeline` and `target`. For http, `target` is the URL of the
// requests.
std::expected<Spoken, CommandTrouble> make_protocol(Experiment experiment, const LoadArguments& words, size_t pipeline,
                                                    const std::string& target);
// Makes the layer that encrypts the connections to `target` with TLS. Returns null if the target does not use TLS.
std::expected<std::unique_ptr<StreamLayer>, CommandTrouble> make_layer(Experiment experiment,
                                                                       const LoadArguments& words,
                                                                       const std::string& target);
// Returns the host name that the certificate of the target must contain: the name of --tls-name, or else the host of
// `target`. If there is no --tls-name and the host is an IP address, the result is empty, because the certificate must
// then contain this address. The result is also empty for unix:PATH without --tls-name, because a path has no host
// name.
std::string target_host(Experiment experiment, const LoadArguments& words, const std::string& target);
// Returns the address of the server. `target` is a URL for http, and HOST:PORT, [HOST]:PORT or unix:PATH otherwise.
// Blocks while it looks up the name.
std::expected<SocketAddress, CommandTrouble> find_server(Experiment experiment, const std::string& target);

// Returns the schedule as a text for reports. `arrivals` is the schedule in the form of the option --arrivals. The
// words "constant" and "poisson" do not contain the rate, so the rate is added, as in "constant 500/s". All other forms
// are returned unchanged, because they already say when messages are due.
std::string schedule_text(const std::string& arrivals, double rate);

}  // namespace peal::cli
