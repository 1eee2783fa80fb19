// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/duel_arguments.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <cli/load/remote_arguments.h>
#include <cli/number_option.h>
#include <cli/one_of.h>
#include <cli/time_option.h>
#include <load/duel/server_process.h>
#include <peal/base/assert.h>

namespace peal::cli {
namespace {

constexpr size_t kLongestName = 40;

// Parses a share. "2%" and "0.02" are the same share.
std::optional<double> parse_share(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return percent ? value / 100 : value;
}

struct Named {
  std::string name;
  std::string value;
};

std::optional<Named> parse_named(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) return std::nullopt;
  const std::string_view name = text.substr(0, equals);
  const auto may_stand = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '+';
  };
  if (name.size() > kLongestName || !std::ranges::all_of(name, may_stand)) return std::nullopt;
  return Named{.name = std::string(name), .value = std::string(text.substr(equals + 1))};
}

CommandTrouble unnamed(std::string_view option, std::string_view what, std::string_view text) {
  return fmt::format("{}takes NAME={}, where NAME has only letters, digits, '-', '_', '.' and '+', not '{}'", option,
                     what, text);
}

CommandTrouble read_runs(const DuelArguments& words, std::vector<load::DuelContender>& contenders) {
  for (const std::string& text : words.runs) {
    std::optional<Named> named = parse_named(text);
    if (!named) return unnamed("--run ", "COMMAND", text);
    std::optional<std::vector<std::string>> command = split_command(named->value);
    if (!command) return fmt::format("--run: a quotation mark is not closed in '{}'", named->value);
    if (command->empty()) return fmt::format("--run: there is no command in '{}'", text);
    if (!load::tells_where(*command)) {
      return fmt::format("--run: the command of '{}' must hold {{listen}} or {{port}}, which say where it must listen",
                         named->name);
    }
    contenders.push_back(
        {.name = std::move(named->name), .command = std::move(*command), .target_text = {}, .target = {}, .pid = {}});
  }
  return {};
}

CommandTrouble read_targets(Experiment experiment, const DuelArguments& words,
                            std::vector<load::DuelContender>& contenders) {
  for (const std::string& text : words.targets) {
    std::optional<Named> named = parse_named(text);
    if (!named) return unnamed("a server that runs already ", "TARGET", text);
    const std::expected<SocketAddress, CommandTrouble> address = find_server(experiment, named->value);
    if (!address) return {address.error().code, fmt::format("{}: {}", named->name, address.error().sentence)};
    contenders.push_back({.name = std::move(named->name),
                          .command = {},
                          .target_text = std::move(named->value),
                          .target = *address,
                          .pid = {}});
  }
  return {};
}

CommandTrouble read_pids(const DuelArguments& words, std::vector<load::DuelContender>& contenders) {
  for (const std::string& text : words.pids) {
    const std::optional<Named> named = parse_named(text);
    if (!named) return unnamed("--pid ", "PID", text);
    const auto found = std::ranges::find(contenders, named->name, &load::DuelContender::name);
    if (found == contenders.end() || found->restarts()) {
      return fmt::format("--pid: '{}' is not the name of a server that runs already", named->name);
    }
    const std::optional<int> pid = read_number(named->value, 1, INT_MAX);
    if (!pid) return fmt::format("--pid takes the number of a process, not '{}'", named->value);
    found->pid = pid;
  }
  return {};
}

CommandTrouble read_queueing(const DuelArguments& words, std::vector<load::DuelContender>& contenders) {
  for (const std::string& name : words.queueing) {
    const auto found = std::ranges::find(contenders, name, &load::DuelContender::name);
    if (found == contenders.end())
      return fmt::format("--expect-queueing: there is no contender of the name '{}'", name);
    found->expect_queueing = true;
  }
  return {};
}

CommandTrouble read_shape(const DuelArguments& words, load::DuelOptions& options) {
  const bool long_slices = !options.load.closed_loop();
  const std::string slice = !words.slice.empty() ? words.slice : long_slices ? "500ms" : "20ms";
  constexpr TimeOption kSlice{.name = "--slice", .takes = "a time such as 20ms"};
  constexpr TimeOption kBudget{.name = "--budget", .takes = "a time such as 60s"};
  if (std::string trouble = kSlice.read(slice, options.slice); !trouble.empty()) return trouble;
  options.rounds = words.rounds.value_or(options.shows_latency() ? 3 : 8);
  if (words.restarts == 0) return fmt::format("a duel has 1 to {} restarts", load::kMostRestarts);
  options.restarts = words.restarts.value_or(0);
  options.in_turn = words.in_turn;
  options.server_threads = words.server_threads;
  options.pin = words.pin == "auto";
  const std::optional<double> precision = parse_share(words.precision);
  if (!precision) return fmt::format("--precision takes a share such as 2%, not '{}'", words.precision);
  options.precision = *precision;
  return kBudget.read(words.budget, options.budget);
}

CommandTrouble read_claims(const DuelArguments& words, load::DuelOptions& options) {
  for (const std::string& text : words.claims) {
    std::expected<load::DuelClaim, std::string> claim = load::parse_claim(text, options.contenders, options.headline());
    if (!claim) return claim.error();
    options.claims.push_back(std::move(*claim));
  }
  return {};
}

CommandTrouble read_place(const DuelArguments& words, DuelJob& job) {
  std::expected<std::optional<load::RemoteHost>, std::string> host = read_remote_host(words, job.options);
  if (!host) return host.error();
  if (*host) job.place = load::place_there(std::move(**host));
  return {};
}

// Returns the target of the requests to the server `contender`:
// - The target of a server that runs already is the target that the user gave.
// - With http, a server that the duel starts has the URL http://AUTHORITY/PATH, or https:// with --tls.
// - With another protocol, a server that the duel starts has an empty target, because only http needs a URL.
//
// `authority` is the HOST:PORT of a server that the duel starts. For a server that runs already, `authority` is empty.
std::string url_of(Experiment experiment, const DuelArguments& words, const load::DuelContender& contender,
                   std::string_view authority) {
  if (experiment != Experiment::kHttp || authority.empty()) return contender.target_text;
  return fmt::format("{}://{}{}", words.load.tls.tls ? "https" : "http", authority, words.path);
}

// Makes a TLS layer for each compared server that uses TLS. Fails if a TLS option was given, but no server uses TLS.
//
// Servers do not share a layer, because a layer keeps TLS sessions by host name and port. With --tls-name, two servers
// may have the same name and port. A client could then offer a server the session of another server. If the server
// refused this session, it would have to make a full handshake, and the comparison would be unfair.
CommandTrouble make_layers(Experiment experiment, const DuelArguments& words, DuelJob& job) {
  for (load::DuelContender& contender : job.options.contenders) {
    const std::string url = url_of(experiment, words, contender, contender.restarts() ? "127.0.0.1:1" : "");
    auto layer = make_layer(experiment, words.load, url);
    if (!layer) return layer.error();
    if (*layer == nullptr) continue;
    contender.layer = layer->get();
    contender.layer_text = tls_text(words.load.tls);
    contender.host =
        contender.restarts() ? words.load.tls.name : target_host(experiment, words.load, contender.target_text);
    job.layers.push_back(std::move(*layer));
  }
  const std::string_view option = tls_option_given(words.load.tls);
  if (!job.layers.empty() || option.empty()) return {};
  return fmt::format("{} needs TLS, but no contender speaks TLS: give --tls{}", option,
                     experiment == Experiment::kHttp ? ", or https:// in a target" : "");
}

}  // namespace

std::optional<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;  // true from the start of a word to its end; a word may be empty, as in ""
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) words.emplace_back();
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return std::nullopt;
  return words;
}

std::expected<DuelJob, CommandTrouble> read_duel(Experiment experiment, const DuelArguments& words) {
  std::expected<LoadJob, CommandTrouble> load = read_load_options(words.load);
  if (!load) return std::unexpected(load.error());
  DuelJob job;
  job.options.load = std::move(load->options);
  job.schedule = load->schedule.empty() ? "closed loop" : load->schedule;
  std::vector<load::DuelContender> contenders;
  for (CommandTrouble trouble : {read_runs(words, contenders), read_targets(experiment, words, contenders),
                                 read_pids(words, contenders), read_queueing(words, contenders)}) {
    if (!trouble.empty()) return std::unexpected(std::move(trouble));
  }
  if (contenders.empty())
    return std::unexpected(std::string("there is no server to measure: give --run NAME=COMMAND or NAME=TARGET"));
  job.options.contenders = load::with_twin(std::move(contenders));
  for (CommandTrouble trouble : {read_shape(words, job.options), read_claims(words, job.options),
                                 read_place(words, job), make_layers(experiment, words, job)}) {
    if (!trouble.empty()) return std::unexpected(std::move(trouble));
  }
  // Checks the options that describe the requests, such as --method, before any server is started. For this check, a
  // protocol is made for each server. A server that is not started yet has no address. Its protocol gets the made-up
  // address 127.0.0.1:1, because the options do not depend on the address.
  for (const load::DuelContender& contender : job.options.contenders) {
    auto spoken = make_protocol(experiment, words.load, job.options.load.pipeline,
                                url_of(experiment, words, contender, contender.restarts() ? "127.0.0.1:1" : ""));
    if (!spoken) return std::unexpected(spoken.error());
    job.request = spoken->request;
    job.options.load.size = spoken->size.value_or(job.options.load.size);
  }
  job.protocol = [experiment, &words, pipeline = job.options.load.pipeline](const load::DuelContender& contender,
                                                                            std::string_view authority) {
    auto spoken = make_protocol(experiment, words.load, pipeline, url_of(experiment, words, contender, authority));
    PEAL_ASSERT(spoken.has_value(), "{}", spoken.error().sentence);
    return std::move(spoken->protocol);
  };
  if (std::string trouble = load::duel_trouble(job.options); !trouble.empty()) {
    return std::unexpected(std::move(trouble));
  }
  return job;
}

void add_duel_options(CLI::App& command, Experiment experiment, DuelArguments& words) {
  const bool http = experiment == Experiment::kHttp;
  command.add_option("NAME=TARGET", words.targets,
                     http ? "Servers that run already, each as NAME=http://HOST[:PORT]/PATH or with https://"
                          : "Servers that run already, each as NAME=HOST:PORT");
  command
      .add_option("--run", words.runs,
                  "Server that the duel starts and restarts, as NAME=COMMAND; the command must hold {listen} "
                  "(HOST:PORT) or {port}, and may hold {host} and {threads}; may be given several times; the other "
                  "contenders are compared with the first one")
      ->allow_extra_args(false);
  command
      .add_option("--pid", words.pids,
                  "Process of a server that runs already, as NAME=PID: its CPU time is measured, with that of its "
                  "child processes; may be given several times")
      ->allow_extra_args(false);
  command
      .add_option("--claim", words.claims,
                  "Claim to be judged about the contenders A and B; for example 'A/B <= 1.05' or 'rate: A/B >= 1'; the "
                  "measure is cpu, rate, p50 or p99; may be given several times")
      ->allow_extra_args(false);
  if (http)
    command.add_option("--path", words.path, "Path of the requests to servers that the duel starts")
        ->capture_default_str();
  add_shared_options(command, experiment, words.load);
  add_load_tls_options(command, http ? TlsAsked::kByUrlOrStart : TlsAsked::kByOption, words.load.tls);
  add_number(command, "--idle-connections", words.load.idle_connections,
             "Further connections to each contender, which are open but send nothing");
  command.add_flag(
      "--in-turn", words.in_turn,
      "Measure all rounds of one contender before the next one is started; only one has open connections then, but "
      "noise of the machine no longer affects all alike (default: take turns after each slice)");
  command
      .add_option("--expect-queueing", words.queueing,
                  "NAME of a contender that serves only some connections at a time: connections that still wait at the "
                  "end are no failures; needs --in-turn; may be given several times")
      ->allow_extra_args(false);
  command.add_option(
      "--slice", words.slice,
      "How long one contender is measured before it is the next one's turn (default: 20ms, or 500ms with --rate)");
  add_number(command, "--rounds", words.rounds,
             "Slices of each contender in a restart (default: 8, or 3 if a slice is at least 500ms)");
  command
      .add_option("--precision", words.precision,
                  "End the duel when every ratio is known to within plus or minus this share")
      ->capture_default_str();
  command.add_option("--budget", words.budget, "Longest time of the whole duel, such as 60s")->capture_default_str();
  add_number(command, "--restarts", words.restarts,
             "Number of restarts of the servers, whatever the precision; --budget still holds (default: as many as "
             "--precision needs)");
  add_number(command, "--server-threads", words.server_threads,
             "Value of {threads} in the commands, and number of CPUs for the servers");
  command
      .add_option(
          "--pin", words.pin,
          "Whether servers and load generator are kept on different CPUs; auto: if there are enough CPUs; off: no")
      ->capture_default_str()
      ->check(one_of({"auto", "off"}));
  add_remote_options(command, words);
  add_number(command, "--seed", words.load.seed, "Seed of the random order in which the contenders take turns");
  command.add_option("--json", words.load.json,
                     "Write all figures and verdicts to this file, as JSON; -: to stdout, and the report to stderr");
  command
      .add_option("--live", words.load.live,
                  "Show a line with the progress on stderr: on, off, or auto, which shows it only on a terminal")
      ->capture_default_str()
      ->check(one_of({"on", "off", "auto"}));
}

}  // namespace peal::cli
