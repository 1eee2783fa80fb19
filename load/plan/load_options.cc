// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/load_options.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <peal/wire/parse_text.h>

namespace peal::load {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

// Parses a number with a unit, such as "16KiB". `units` lists the allowed units, each with its factor. Returns the
// number times the factor. For "16KiB", this is 16 * 1024. Returns std::nullopt in these cases:
// - The text does not begin with a number, or the number is negative or infinite.
// - The unit is not in `units`.
template <size_t n>
std::optional<double> parse_with_unit(std::string_view text, const std::array<Unit, n>& units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || number < 0 || !std::isfinite(number)) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (unit.suffix == suffix) return number * unit.factor;
  }
  return std::nullopt;
}

constexpr size_t kFdsPerThread = 8;
constexpr size_t kFdsBesideClients = 32;

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  static constexpr std::array<Unit, 6> kUnits{
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}}};
  const std::optional<double> ns = parse_with_unit(text, kUnits);
  if (!ns || *ns > static_cast<double>(kLongest.count())) return std::nullopt;
  return Duration(std::llround(*ns));
}

std::optional<double> parse_rate(std::string_view text) {
  static constexpr std::array<Unit, 6> kUnits{{{"", 1}, {"/s", 1}, {"k", 1e3}, {"k/s", 1e3}, {"M", 1e6}, {"M/s", 1e6}}};
  const std::optional<double> rate = parse_with_unit(text, kUnits);
  if (!rate || *rate <= 0 || *rate > kMostRate) return std::nullopt;
  return rate;
}

std::optional<size_t> parse_size(std::string_view text) {
  static constexpr std::array<Unit, 4> kUnits{{{"", 1}, {"B", 1}, {"KiB", 1024}, {"MiB", 1048576}}};
  const std::optional<double> bytes = parse_with_unit(text, kUnits);
  if (!bytes || *bytes < 0 || *bytes > static_cast<double>(kMostBytes) || *bytes != std::floor(*bytes)) {
    return std::nullopt;
  }
  return static_cast<size_t>(*bytes);
}

Result<Spin> parse_spin(std::string_view text) {
  if (text == "off") return Spin{.mode = Spin::Mode::kOff};
  if (text == "auto") return Spin{.mode = Spin::Mode::kAuto};
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end, text.data() + text.size());
  const Duration bound = count * Duration(unit == "ns" ? 1 : unit == "us" ? 1'000 : unit == "ms" ? 1'000'000 : 0);
  if (error != std::errc() || bound <= Duration::zero() || bound > kMaxSpin) return fail(EINVAL);
  return Spin{.mode = Spin::Mode::kBound, .bound = bound};
}

std::optional<RequestRange> parse_request_range(std::string_view text) {
  const size_t dash = text.find('-');
  const auto least = parse_text<uint64_t>(text.substr(0, dash));
  const auto most = dash == std::string_view::npos ? least : parse_text<uint64_t>(text.substr(dash + 1));
  if (!least || !most || *least == 0 || *most < *least) return std::nullopt;
  return RequestRange{*least, *most};
}

namespace {

std::string counts_trouble(const LoadOptions& options) {
  if (options.connections == 0 || options.connections > kMostConnections) {
    return fmt::format("--connections is 1 to {}, not {}", kMostConnections, options.connections);
  }
  if (options.threads == 0 || options.threads > kMostThreads) {
    return fmt::format("--threads is 1 to {}, not {}", kMostThreads, options.threads);
  }
  if (options.threads > options.connections) {
    return fmt::format("{} threads cannot share {} connection{}: give each thread at least one", options.threads,
                       options.connections, options.connections == 1 ? "" : "s");
  }
  if (options.pipeline == 0 || options.pipeline > kMostPipelined) {
    return fmt::format("--pipeline is 1 to {}, not {}", kMostPipelined, options.pipeline);
  }
  if (options.idle_connections > kMostConnections) {
    return fmt::format("--idle-connections is at most {}, not {}", kMostConnections, options.idle_connections);
  }
  return {};
}

std::string times_trouble(const LoadOptions& options) {
  if (options.duration <= Duration::zero()) return "--duration must be more than 0";
  if (options.connect_timeout <= Duration::zero()) return "--connect-timeout must be more than 0";
  if (options.interval < kShortestInterval) return "--interval is at least 10ms";
  if (options.deadline && options.closed_loop()) {
    return "--deadline sheds messages of a schedule: it needs --rate or --arrivals";
  }
  if (options.deadline && *options.deadline <= Duration::zero()) return "--deadline must be more than 0";
  if (options.timeout && *options.timeout <= Duration::zero()) return "--timeout must be more than 0";
  return {};
}

}  // namespace

std::string options_trouble(const LoadOptions& options) {
  if (std::string trouble = counts_trouble(options); !trouble.empty()) return trouble;
  if (std::string trouble = times_trouble(options); !trouble.empty()) return trouble;
  for (const SocketAddress& source : options.sources) {
    if (source.family() != options.target.family()) {
      return fmt::format("--source-addresses: {} cannot reach {}, which is of another family", source.to_string(),
                         options.target_text);
    }
  }
  return {};
}

size_t fds_needed(const LoadOptions& options) {
  return options.connections + options.idle_connections + options.threads * kFdsPerThread + kFdsBesideClients;
}

}  // namespace peal::load
