// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/arrival_text.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <load/plan/load_options.h>
#include <peal/base/ascii.h>
#include <peal/wire/parse_text.h>

namespace peal::load {
namespace {

using Parsed = std::expected<ArrivalPlan, std::string>;

constexpr size_t kLongestLine = 256;
// Each arrival is drawn, 25 ns: a thread that drew a billion a second would do nothing else, and never end.
constexpr double kMostPoisson = 5e6;

std::unexpected<std::string> refuse(std::string_view text, std::string_view why) {
  return std::unexpected(fmt::format("--arrivals: '{}' {}", text, why));
}

// What stands before and after the one `separator`; nothing when there is none.
std::optional<std::pair<std::string_view, std::string_view>> cut_at(std::string_view text, std::string_view separator) {
  const size_t at = text.find(separator);
  if (at == text.npos) return std::nullopt;
  return std::pair(trimmed(text.substr(0, at)), trimmed(text.substr(at + separator.size())));
}

std::optional<double> parse_rate_or_zero(std::string_view text) {
  if (text == "0" || text == "0/s") return 0;
  return parse_rate(text);
}

std::optional<Duration> parse_period(std::string_view text) {
  const std::optional<Duration> period = parse_duration(text);
  return period && *period > Duration::zero() ? period : std::nullopt;
}

Parsed parse_ramp(std::string_view text, std::string_view rest, Duration run) {
  Duration over = run;
  if (const auto cut = cut_at(rest, " over ")) {
    const std::optional<Duration> period = parse_period(cut->second);
    if (!period) return refuse(text, fmt::format("lasts '{}', which is no time such as 30s", cut->second));
    over = *period;
    rest = cut->first;
  }
  const auto rates = cut_at(rest, "..");
  if (!rates) return refuse(text, "is no ramp such as ramp:1000/s..20000/s over 30s");
  const std::optional<double> from = parse_rate_or_zero(rates->first);
  const std::optional<double> to = parse_rate_or_zero(rates->second);
  if (!from || !to) {
    return refuse(text, fmt::format("has '{}', which is no rate such as 1000/s", from ? rates->second : rates->first));
  }
  if (*from + *to == 0) return refuse(text, "never sends anything");
  if (over <= Duration::zero()) return refuse(text, "does not say how long it lasts");
  return ArrivalPlan::ramp(*from, *to, over);
}

Parsed parse_steps(std::string_view text, std::string_view rest) {
  const auto cut = cut_at(rest, " every ");
  if (!cut) return refuse(text, "does not say how long each step lasts: step:1000/s,2000/s every 5s");
  const std::optional<Duration> every = parse_period(cut->second);
  if (!every) return refuse(text, fmt::format("has steps of '{}', which is no time such as 5s", cut->second));
  std::vector<double> rates;
  for (std::string_view left = cut->first;;) {
    const size_t comma = left.find(',');
    const std::string_view word = trimmed(left.substr(0, comma));
    const std::optional<double> rate = parse_rate_or_zero(word);
    if (!rate) return refuse(text, fmt::format("has '{}', which is no rate such as 1000/s", word));
    rates.push_back(*rate);
    if (rates.size() > kMostSteps) return refuse(text.substr(0, 40), fmt::format("has more than {} steps", kMostSteps));
    if (comma == left.npos) break;
    left.remove_prefix(comma + 1);
  }
  if (std::ranges::none_of(rates, [](double rate) { return rate > 0; })) return refuse(text, "never sends anything");
  return ArrivalPlan::steps(rates, *every);
}

Parsed parse_bursts(std::string_view text, std::string_view rest) {
  const auto cut = cut_at(rest, " every ");
  if (!cut) return refuse(text, "does not say how often: burst:100 every 50ms");
  const std::string_view digits = cut->first;
  const uint64_t count = parse_text<uint64_t>(digits).value_or(0);
  if (count == 0 || count > kMostBurst) {
    return refuse(text, fmt::format("has bursts of '{}', which is no count from 1 to {}", digits, kMostBurst));
  }
  const std::optional<Duration> every = parse_period(cut->second);
  if (!every) return refuse(text, fmt::format("bursts every '{}', which is no time such as 50ms", cut->second));
  if (static_cast<double>(count) * 1e9 / static_cast<double>(every->count()) > kMostRate) {
    return refuse(text, fmt::format("asks for more than {:.0f} a second", kMostRate));
  }
  return ArrivalPlan::bursts(count, *every);
}

// "12.0025", exactly; nothing when it is no such number, is later than kLongest, or finer than a nanosecond.
std::optional<Duration> parse_offset(std::string_view text) {
  const size_t point = std::min(text.find('.'), text.size());
  const auto seconds = parse_text<uint64_t>(text.substr(0, point));
  if (!seconds || std::cmp_greater(*seconds, kLongest / std::chrono::seconds(1))) return std::nullopt;
  Duration offset = std::chrono::seconds(*seconds);
  if (point < text.size()) {
    const std::string_view digits = text.substr(point + 1);
    if (digits.empty() || digits.size() > 9) return std::nullopt;
    Duration unit = std::chrono::seconds(1);
    for (const char digit : digits) {
      if (digit < '0' || digit > '9') return std::nullopt;
      unit /= 10;
      offset += unit * (digit - '0');
    }
  }
  return offset > kLongest ? std::nullopt : std::optional(offset);
}

Parsed read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  const auto trouble = [&path](std::string_view why) {
    return std::unexpected(fmt::format("--arrivals: the file '{}' {}", path, why));
  };
  if (!file) return trouble(fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::vector<Duration> offsets;
  std::array<char, kLongestLine + 1> line{};
  for (size_t number = 1; file.getline(line.data(), line.size()) || file.gcount() > 0; ++number) {
    if (!file && !file.eof()) return trouble(fmt::format("has a line of more than {} bytes: {}", kLongestLine, number));
    // What getline(3) counts ends with the line's end, except at the file's.
    std::string_view text(line.data(), static_cast<size_t>(file.gcount()) - (file.eof() ? 0 : 1));
    text = trimmed(text.substr(0, text.find('#')));
    if (text.empty()) continue;
    const std::optional<Duration> offset = parse_offset(text);
    if (!offset) {
      return trouble(fmt::format("has '{}' in line {}, which is no time in seconds such as 0.0025", text, number));
    }
    if (!offsets.empty() && *offset < offsets.back()) {
      return trouble(fmt::format("goes back in time in line {}: its lines must ascend", number));
    }
    if (offsets.size() == kMostFileArrivals) return trouble(fmt::format("has more than {} lines", kMostFileArrivals));
    offsets.push_back(*offset);
  }
  if (file.bad() || !file.eof()) return trouble("cannot be read");
  if (offsets.empty()) return trouble("has no arrival in it");
  return ArrivalPlan::at(std::move(offsets));
}

}  // namespace

Parsed parse_arrivals(std::string_view text, double rate, Duration run) {
  const bool constant = text == "constant";
  if (constant || text == "poisson") {
    if (rate <= 0) return refuse(text, "needs a --rate");
    if (!constant && rate > kMostPoisson) {
      return refuse(text, fmt::format("is drawn one by one: its rate is at most {:.0f}/s", kMostPoisson));
    }
    return constant ? ArrivalPlan::constant(rate) : ArrivalPlan::poisson(rate);
  }
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view kind = text.substr(0, colon);
  if (colon == text.size() || (kind != "ramp" && kind != "step" && kind != "burst" && kind != "file")) {
    return refuse(text, "is none of constant, poisson, ramp:, step:, burst: and file:");
  }
  if (rate > 0) return refuse(text, "says when requests are due, and so does --rate: leave one out");
  const std::string_view rest = text.substr(colon + 1);
  if (kind == "ramp") return parse_ramp(text, rest, run);
  if (kind == "step") return parse_steps(text, rest);
  if (kind == "burst") return parse_bursts(text, rest);
  return read_file(std::string(rest));
}

}  // namespace peal::load
