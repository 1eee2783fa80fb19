// SPDX-License-Identifier: BSD-3-Clause
// `peal load pingpong TARGET`: drives a server and says what it measured. The report goes to stdout, a live line to
// stderr where that is a terminal.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <cli/command.h>
#include <load/gates.h>
#include <load/load_options.h>
#include <load/load_run.h>
#include <load/ping_pong_session.h>
#include <load/report_json.h>
#include <load/report_text.h>

namespace peal::cli {
namespace {

constexpr int kGateFailed = 3;

// As they stand on the command line.
struct LoadWords {
  std::string target;
  size_t connections = 1;
  size_t threads = 1;
  std::string size = "64";
  std::string duration = "10s";
  std::string warm_up = "1s";
  std::string connect_timeout = "10s";
  std::string rate;
  std::string engine = "auto";
  std::string spin = "off";
  int server_pid = 0;
  std::string json;
  std::vector<std::string> sources;
};

template <class Value>
bool take(std::optional<Value> parsed, Value& into) {
  if (parsed) into = *parsed;
  return parsed.has_value();
}

std::string bad_duration(std::string_view option, std::string_view text) {
  return fmt::format("{} takes a time such as 10s, 500ms or 2m, not '{}'", option, text);
}

// An address without a port: the kernel chooses that.
Result<SocketAddress> parse_source(const std::string& text) {
  return SocketAddress::parse(text.contains(':') ? fmt::format("[{}]:0", text) : text + ":0");
}

// What is wrong with the words, as one sentence; empty when `options` holds them.
std::string read_words(const LoadWords& words, load::LoadOptions& options) {
  options.target_text = words.target;
  Result<SocketAddress> target = SocketAddress::parse(words.target);
  if (!target) {
    return fmt::format("'{}' is not an address: give HOST:PORT with a numeric host, [HOST]:PORT for IPv6, or unix:PATH",
                       words.target);
  }
  options.target = *target;
  options.connections = words.connections;
  options.threads = words.threads;
  if (!take(load::parse_size(words.size), options.size)) {
    return fmt::format("--size takes 1 to {} bytes, such as 64 or 16KiB, not '{}'", load::kMostBytes, words.size);
  }
  if (!take(load::parse_duration(words.duration), options.duration)) return bad_duration("--duration", words.duration);
  if (!take(load::parse_duration(words.warm_up), options.warm_up)) return bad_duration("--warmup", words.warm_up);
  if (!take(load::parse_duration(words.connect_timeout), options.connect_timeout)) {
    return bad_duration("--connect-timeout", words.connect_timeout);
  }
  if (!words.rate.empty() && !take(load::parse_rate(words.rate), options.rate)) {
    return fmt::format("--rate takes messages a second, such as 20000/s or 20k/s, not '{}'", words.rate);
  }
  options.engine = words.engine;
  Result<Spin> spin = Spin::parse(words.spin);
  if (!spin) return fmt::format("--spin takes off, auto or a bound such as 50us, not '{}'", words.spin);
  options.spin = *spin;
  if (words.server_pid != 0) options.server_pid = words.server_pid;
  for (const std::string& text : words.sources) {
    Result<SocketAddress> source = parse_source(text);
    if (!source) return fmt::format("--source-addresses: '{}' is not a numeric address", text);
    options.sources.push_back(*source);
  }
  return load::options_trouble(options);
}

// Erases itself, so that nothing of it stays on the screen.
class LiveLine {
 public:
  explicit LiveLine(const load::LoadOptions& options) : options_(options) {}
  ~LiveLine() {
    if (shown_) fmt::print(stderr, "\r\x1b[2K");
  }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;
  void show(const load::Progress& progress) {
    shown_ = true;
    fmt::print(stderr, "\r\x1b[2K{}", load::live_line(options_, progress));
    std::fflush(stderr);
  }

 private:
  const load::LoadOptions& options_;
  bool shown_ = false;
};

std::expected<load::Outcome, std::string> run(const load::LoadOptions& options, const load::Protocol& protocol) {
  if (::isatty(STDERR_FILENO) == 0) return load::run_load(options, protocol);
  LiveLine line(options);
  return load::run_load(options, protocol, [&line](const load::Progress& progress) { line.show(progress); });
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  return file.flush().good();
}

int load_and_report(const LoadWords& words, const load::LoadOptions& options) {
  const load::PingPong protocol(options.size);
  std::expected<load::Outcome, std::string> outcome = run(options, protocol);
  if (!outcome) return complain(kFailed, outcome.error());
  const std::vector<load::Gate> gates = load::judge(options, *outcome);
  fmt::print("{}", load::report_text(protocol.name(), options, *outcome, gates));
  std::fflush(stdout);
  if (!words.json.empty() && !write_file(words.json, load::report_json(protocol.name(), options, *outcome, gates))) {
    return complain(kFailed, fmt::format("the report could not be written to {}", words.json));
  }
  return load::is_invalid(gates) ? kGateFailed : kDone;
}

int check_and_load(const LoadWords& words) {
  load::LoadOptions options;
  if (std::string trouble = read_words(words, options); !trouble.empty()) return complain(kCalledWrongly, trouble);
  if (EngineTrouble trouble = engine_trouble(options.engine); trouble.code != kDone) {
    return complain(trouble.code, trouble.sentence);
  }
  if (const size_t limit = raise_fd_limit(), needed = load::fds_needed(options); needed > limit) {
    return complain(kFailed, fmt::format("{} connections need {} open fds and this process may have {}: raise the hard "
                                         "limit (ulimit -Hn {}, as root) or ask for fewer",
                                         options.connections, needed, limit, needed));
  }
  if (!words.json.empty() && !std::ofstream(words.json, std::ios::app)) {
    return complain(kFailed, fmt::format("{} cannot be written", words.json));
  }
  return load_and_report(words, options);
}

void add_options(CLI::App& command, LoadWords& words) {
  command.add_option("TARGET", words.target, "Server: HOST:PORT, [HOST]:PORT or unix:PATH")->required();
  command.add_option("--connections", words.connections, "Connections, over all threads")->capture_default_str();
  command.add_option("--threads", words.threads, "Threads, each with a loop of its own")->capture_default_str();
  command.add_option("--size", words.size, "Bytes of a message")->capture_default_str();
  command.add_option("--duration", words.duration, "How long is measured")->capture_default_str();
  command.add_option("--warmup", words.warm_up, "How long runs before, once all connections are open")
      ->capture_default_str();
  command.add_option("--rate", words.rate,
                     "Messages a second over all connections, sent when they are due whatever the server does; "
                     "without it each connection sends again as soon as its answer is back");
  command.add_option("--connect-timeout", words.connect_timeout, "By then all connections must be open")
      ->capture_default_str();
  command.add_option("--source-addresses", words.sources, "Addresses to connect from, in turn, separated by commas")
      ->delimiter(',');
  command.add_option("--engine", words.engine, "auto, epoll or io_uring")->capture_default_str();
  command.add_option("--spin", words.spin, "Look for events before sleeping: off, auto or a bound such as 50us")
      ->capture_default_str();
  command.add_option("--server-pid", words.server_pid, "Process whose CPU, memory and context switches are read")
      ->check(CLI::PositiveNumber);
  command.add_option("--json", words.json, "Write the figures to this file");
}

}  // namespace

void add_load(CLI::App& app, int& exit_code) {
  CLI::App* load = app.add_subcommand("load", "Drive a server and measure it");
  load->require_subcommand(1);
  CLI::App* pingpong = load->add_subcommand(
      "pingpong", "A block of bytes goes round on each connection; every byte that comes back is checked");
  auto words = std::make_shared<LoadWords>();
  add_options(*pingpong, *words);
  pingpong->footer(
      "Exits with 0: done, 1: it failed, 2: called wrongly, 3: measured, but the figures do not mean what they say.\n"
      "Examples:\n"
      "  peal load pingpong 127.0.0.1:9981 --connections 100 --duration 10s\n"
      "  peal load pingpong 127.0.0.1:9981 --connections 1000 --rate 20k/s --size 16KiB --json out.json");
  pingpong->callback([words, &exit_code] { exit_code = check_and_load(*words); });
}

}  // namespace peal::cli
