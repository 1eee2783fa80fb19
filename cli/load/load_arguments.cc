// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_arguments.h>

#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <cli/load/load_target.h>
#include <cli/time_option.h>
#include <load/plan/arrival_text.h>
#include <load/plan/source_ranges.h>
#include <load/session/echo_session.h>
#include <load/session/http_protocol.h>
#include <peal/base/printable.h>
#include <peal/wire/uri/http_url.h>

namespace peal::cli {
namespace {

template <class Value, class Place>
bool take(const std::optional<Value>& parsed, Place& into) {
  if (parsed) into = *parsed;
  return parsed.has_value();
}

CommandTrouble read_times(const LoadArguments& words, load::LoadOptions& options) {
  const std::tuple<std::string_view, const std::string*, Duration*> times[] = {
      {"--duration", &words.duration, &options.duration},
      {"--warmup", &words.warm_up, &options.warm_up},
      {"--interval", &words.interval, &options.interval},
      {"--connect-timeout", &words.connect_timeout, &options.connect_timeout},
      {"--grace", &words.grace, &options.grace},
      {"--deadline", &words.deadline, words.deadline.empty() ? nullptr : &options.deadline.emplace()},
      {"--timeout", &words.timeout, words.timeout.empty() ? nullptr : &options.timeout.emplace()},
  };
  for (const auto& [name, text, place] : times) {
    if (place == nullptr) continue;
    const TimeOption option{.name = name, .takes = "a time such as 10s, 500ms or 2m"};
    if (std::string trouble = option.read(*text, *place); !trouble.empty()) return trouble;
  }
  if (words.start_at == 0) return {};
  const std::chrono::duration<double> since_epoch(words.start_at);
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  if (!(since_epoch < now + load::kLongest)) return "--start-at lies more than a week ahead";
  const auto start = std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(since_epoch));
  if (start <= std::chrono::system_clock::now())
    return "--start-at lies in the past: give a later time, in seconds since 1970";
  options.start_at = start;
  return {};
}

CommandTrouble read_schedule(const LoadArguments& words, LoadJob& job) {
  if (!words.rate.empty() && !take(load::parse_rate(words.rate), job.rate)) {
    return fmt::format("--rate takes messages a second, such as 20000/s or 20k/s, not '{}'", words.rate);
  }
  if (words.find_max) {
    job.arrivals = words.arrivals.empty() ? "constant" : words.arrivals;
    if (job.arrivals != "constant" && job.arrivals != "poisson") {
      return fmt::format("--find-max looks for one rate: --arrivals must be constant or poisson, not '{}'",
                         words.arrivals);
    }
    if (job.rate == 0) job.rate = 1000;
  } else {
    job.arrivals = !words.arrivals.empty() ? words.arrivals : job.rate > 0 ? "constant" : "";
  }
  if (job.arrivals.empty()) return {};
  std::expected<load::ArrivalPlan, std::string> plan =
      load::parse_arrivals(job.arrivals, job.rate, job.options.duration);
  if (!plan) {
    const bool is_files = job.arrivals.starts_with("file:") && job.rate == 0;
    return {is_files ? kFailed : kCalledWrongly, std::move(plan.error())};
  }
  job.options.arrivals = std::move(*plan);
  job.schedule = schedule_text(job.arrivals, job.rate);
  return {};
}

CommandTrouble read_connections(const LoadArguments& words, load::LoadOptions& options) {
  options.connections = words.connections;
  options.threads = words.threads;
  options.pipeline = words.pipeline;
  options.idle_connections = words.idle_connections;
  if (!words.requests_per_connection.empty() &&
      !take(load::parse_request_range(words.requests_per_connection), options.requests_per_connection)) {
    return fmt::format("--requests-per-connection takes a number or a range, such as 1 or 10-100, not '{}'",
                       words.requests_per_connection);
  }
  if (words.tls.handshakes) {
    const load::RequestRange one{1, 1};
    const bool says_more = !words.requests_per_connection.empty() && options.requests_per_connection.most != 1;
    if (says_more) return "--handshakes makes one request on each connection: leave --requests-per-connection out";
    options.requests_per_connection = one;
  }
  options.reset_close = words.close == "rst";
  options.expect_queueing = words.expect_queueing;
  if (!words.connect_rate.empty() && !words.ramp.empty())
    return "--ramp and --connect-rate set the same rate: give one of them";
  if (!words.connect_rate.empty() && !take(load::parse_rate(words.connect_rate), options.connect_rate)) {
    return fmt::format("--connect-rate takes connections a second, such as 500/s, not '{}'", words.connect_rate);
  }
  if (!words.ramp.empty()) {
    constexpr TimeOption kRamp{.name = "--ramp", .takes = "a time such as 10s", .least = kAnyTime};
    Duration ramp{};
    if (std::string trouble = kRamp.read(words.ramp, ramp); !trouble.empty()) return trouble;
    options.connect_rate = static_cast<double>(words.connections) / std::chrono::duration<double>(ramp).count();
  }
  if (words.sources.empty()) return {};
  std::expected<std::vector<SocketAddress>, std::string> sources = load::parse_source_ranges(words.sources);
  if (!sources) return sources.error();
  options.sources = std::move(*sources);
  return {};
}

CommandTrouble read_rest(const LoadArguments& words, LoadJob& job) {
  load::LoadOptions& options = job.options;
  options.seed = words.seed;
  options.engine = words.engine;
  options.debug = words.debug;
  const Result<Spin> spin = load::parse_spin(words.spin);
  if (!spin) return fmt::format("--spin takes off, auto or a bound such as 50us, not '{}'", words.spin);
  options.spin = *spin;
  if (words.server_pid != 0) options.server_pid = words.server_pid;
  for (const std::string& text : words.slos) {
    std::expected<load::Slo, std::string> objective = load::parse_slo(text);
    if (!objective) return objective.error();
    job.objectives.push_back(std::move(*objective));
  }
  if (!words.find_max) return words.slos.empty() ? CommandTrouble() : "--slo needs --find-max: give both";
  if (words.start_at != 0) return "--find-max makes many runs: leave --start-at out, which is for one run";
  if (!words.ndjson.empty() || !words.hdr.empty() || !words.open_metrics.empty()) {
    return "--find-max makes many runs: only --json can hold them; leave --ndjson, --hdr and --openmetrics out";
  }
  return {};
}

// Returns the text that the value `word` of an option means: the content of the file FILE if `word` is @FILE, or else
// `word` itself. An empty file is no error, because the body of a message may be empty. `option` is the name of the
// option, for error messages.
std::expected<std::string, CommandTrouble> text_or_file(std::string_view option, const std::string& word) {
  if (!word.starts_with('@')) return word;
  std::expected<std::string, std::string> text = read_file(word.substr(1), load::kMostBytes);
  if (text) return std::move(*text);
  return std::unexpected(CommandTrouble(kFailed, fmt::format("{}: {}", option, text.error())));
}

std::expected<HttpUrl, std::string> read_url(const std::string& text) {
  std::expected<HttpUrl, std::string> url = HttpUrl::parse(text);
  if (!url) url = std::unexpected(fmt::format("'{}': {}", printable(text), url.error()));
  return url;
}

std::expected<Spoken, CommandTrouble> make_http(const LoadArguments& words, size_t pipeline, const std::string& url) {
  if (const auto parsed = read_url(url); !parsed) return std::unexpected(parsed.error());
  load::HttpLoad http{.url = url, .method = words.method};
  for (const std::string& header : words.headers) {
    const size_t colon = header.find(':');
    const size_t value = header.find_first_not_of(' ', colon == std::string::npos ? colon : colon + 1);
    if (colon == std::string::npos || colon == 0) {
      return std::unexpected(fmt::format("--header takes 'Name: value', not '{}'", header));
    }
    http.headers.emplace_back(header.substr(0, colon), value == std::string::npos ? "" : header.substr(value));
  }
  if (!words.body.empty()) {
    std::expected<std::string, CommandTrouble> body = text_or_file("--body", words.body);
    if (!body) return std::unexpected(body.error());
    http.body = std::move(*body);
  }
  if (words.expect_status != 0) http.status = words.expect_status;
  if (!words.expect_length.empty()) {
    const std::optional<size_t> length = load::parse_size(words.expect_length);
    if (!length)
      return std::unexpected(
          fmt::format("--expect-length takes bytes, such as 64 or 16KiB, not '{}'", words.expect_length));
    http.length = length;
  }
  if (!words.expect_body.empty()) {
    std::expected<std::string, CommandTrouble> body = text_or_file("--expect-body", words.expect_body);
    if (!body) return std::unexpected(body.error());
    http.expected_body = std::move(*body);
  }
  std::string request = http.body.empty() ? http.method : fmt::format("{} of {} bytes", http.method, http.body.size());
  auto protocol = load::HttpProtocol::make(std::move(http), pipeline);
  if (!protocol) return std::unexpected(protocol.error());
  return Spoken{.protocol = std::move(*protocol), .request = std::move(request)};
}

std::expected<Spoken, CommandTrouble> make_echo(Experiment experiment, const LoadArguments& words) {
  const bool framed = experiment == Experiment::kEcho;
  const std::optional<size_t> size = load::parse_size(words.size);
  if (!size || (*size == 0 && !framed)) {
    return std::unexpected(fmt::format("--size takes {} to {} bytes, such as 64 or 16KiB, not '{}'", framed ? 0 : 1,
                                       load::kMostBytes, words.size));
  }
  return Spoken{.protocol = std::make_unique<load::EchoProtocol>(framed ? load::EchoProtocol::framed(*size)
                                                                        : load::EchoProtocol::unframed(*size)),
                .request = fmt::format("{} bytes", *size),
                .size = size};
}

CommandTrouble tls_trouble(Experiment experiment, const LoadTlsArguments& words) {
  if (tls_option_given(words).empty()) return {};
  return fmt::format("{} needs TLS: {}", tls_option_given(words),
                     experiment == Experiment::kHttp ? "give an https:// URL" : "give --tls");
}

CommandTrouble read_target(Experiment experiment, const LoadArguments& words, LoadJob& job) {
  std::expected<Spoken, CommandTrouble> spoken = make_protocol(experiment, words, job.options.pipeline, words.target);
  if (!spoken) return spoken.error();
  job.protocol = std::move(spoken->protocol);
  job.request = std::move(spoken->request);
  job.options.size = spoken->size.value_or(job.options.size);
  const std::expected<SocketAddress, CommandTrouble> target = find_server(experiment, words.target);
  if (!target) return target.error();
  job.options.target = *target;
  auto layer = make_layer(experiment, words, words.target);
  if (!layer) return layer.error();
  if (*layer == nullptr) return tls_trouble(experiment, words.tls);
  job.layer = std::move(*layer);
  job.options.layer = job.layer.get();
  job.options.layer_text = tls_text(words.tls);
  job.options.host = target_host(experiment, words, words.target);
  if (target->family() != AF_UNIX || !job.options.host.empty() || words.tls.insecure) return {};
  return "a unix socket has no host name to verify: give --tls-name";
}

CommandTrouble read_options(const LoadArguments& words, LoadJob& job) {
  if (CommandTrouble trouble = read_times(words, job.options); !trouble.empty()) return trouble;
  if (CommandTrouble trouble = read_connections(words, job.options); !trouble.empty()) return trouble;
  if (CommandTrouble trouble = read_schedule(words, job); !trouble.empty()) return trouble;
  if (CommandTrouble trouble = read_rest(words, job); !trouble.empty()) return trouble;
  if (job.options.pipeline == 0 || job.options.pipeline > load::kMostPipelined) {
    return fmt::format("--pipeline is 1 to {}, not {}", load::kMostPipelined, job.options.pipeline);
  }
  return {};
}

CommandTrouble read_all(Experiment experiment, const LoadArguments& words, LoadJob& job) {
  job.options.target_text = words.target;
  if (CommandTrouble trouble = read_options(words, job); !trouble.empty()) return trouble;
  if (CommandTrouble trouble = read_target(experiment, words, job); !trouble.empty()) return trouble;
  return load::options_trouble(job.options);
}

}  // namespace

std::expected<LoadJob, CommandTrouble> read_load_options(const LoadArguments& words) {
  LoadJob job;
  if (CommandTrouble trouble = read_options(words, job); !trouble.empty()) return std::unexpected(std::move(trouble));
  return job;
}

std::expected<Spoken, CommandTrouble> make_protocol(Experiment experiment, const LoadArguments& words, size_t pipeline,
                                                    const std::string& target) {
  return experiment == Experiment::kHttp ? make_http(words, pipeline, target) : make_echo(experiment, words);
}

std::expected<std::unique_ptr<StreamLayer>, CommandTrouble> make_layer(Experiment experiment,
                                                                       const LoadArguments& words,
                                                                       const std::string& target) {
  if (experiment != Experiment::kHttp) {
    return words.tls.tls ? make_tls_layer(words.tls, "") : std::unique_ptr<StreamLayer>();
  }
  const std::expected<HttpUrl, std::string> url = read_url(target);
  if (!url) return std::unexpected(url.error());
  return url->is_https() ? make_tls_layer(words.tls, "http/1.1") : std::unique_ptr<StreamLayer>();
}

std::string target_host(Experiment experiment, const LoadArguments& words, const std::string& target) {
  if (experiment != Experiment::kHttp) return name_to_verify_of(words.tls, target);
  const std::expected<HttpUrl, std::string> url = read_url(target);
  return name_to_verify(words.tls, url ? url->host : std::string());
}

std::expected<SocketAddress, CommandTrouble> find_server(Experiment experiment, const std::string& target) {
  if (experiment != Experiment::kHttp) return find_target(target);
  const std::expected<HttpUrl, std::string> url = read_url(target);
  if (!url) return std::unexpected(url.error());
  return find_host(url->host, url->port);
}

std::expected<LoadJob, CommandTrouble> read_words(Experiment experiment, const LoadArguments& words) {
  LoadJob job;
  if (CommandTrouble trouble = read_all(experiment, words, job); !trouble.empty())
    return std::unexpected(std::move(trouble));
  return job;
}

std::string schedule_text(const std::string& arrivals, double rate) {
  return arrivals == "constant" || arrivals == "poisson" ? fmt::format("{} {:.10g}/s", arrivals, rate) : arrivals;
}

}  // namespace peal::cli
