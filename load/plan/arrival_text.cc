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
// The highest rate of a Poisson plan, in requests per second. The time of each request is drawn at random, which takes
// 25 ns of CPU time. At this rate, drawing uses one eighth of a core. At a much higher rate, too little CPU time would
// be left for sending.
constexpr double kMostPoisson = 5e6;

std::unexpected<std::string> refuse(std::string_view text, std::string_view why) {
  return std::unexpected(fmt::format("--arrivals: '{}' {}", text, why));
}

// Splits `text` at the first `separator`. Returns the text before it and the text after it, both without blanks at
// their ends. Returns std::nullopt if `text` does not contain the separator.
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
    if (!period) return refuse(text, fmt::format("lasts '{}', which is not a time such as 30s", cut->second));
    over = *period;
    rest = cut->first;
  }
  const auto rates = cut_at(rest, "..");
  if (!rates) return refuse(text, "is not a ramp such as ramp:1000/s..20000/s over 30s");
  const std::optional<double> from = parse_rate_or_zero(rates->first);
  const std::optional<double> to = parse_rate_or_zero(rates->second);
  if (!from || !to) {
    return refuse(text,
                  fmt::format("has '{}', which is not a rate such as 1000/s", from ? rates->second : rates->first));
  }
  if (*from + *to == 0) return refuse(text, "never sends anything: at least one rate must be more than 0");
  if (over <= Duration::zero()) return refuse(text, "does not say how long it lasts: add ' over 30s'");
  return ArrivalPlan::ramp(*from, *to, over);
}

Parsed parse_steps(std::string_view text, std::string_view rest) {
  const auto cut = cut_at(rest, " every ");
  if (!cut) return refuse(text, "does not say how long each step lasts: write step:1000/s,2000/s every 5s");
  const std::optional<Duration> every = parse_period(cut->second);
  if (!every) return refuse(text, fmt::format("has steps of '{}', which is not a time such as 5s", cut->second));
  std::vector<double> rates;
  for (std::string_view left = cut->first;;) {
    const size_t comma = left.find(',');
    const std::string_view word = trimmed(left.substr(0, comma));
    const std::optional<double> rate = parse_rate_or_zero(word);
    if (!rate) return refuse(text, fmt::format("has '{}', which is not a rate such as 1000/s", word));
    rates.push_back(*rate);
    if (rates.size() > kMostSteps) return refuse(text.substr(0, 40), fmt::format("has more than {} steps", kMostSteps));
    if (comma == left.npos) break;
    left.remove_prefix(comma + 1);
  }
  if (std::ranges::none_of(rates, [](double rate) { return rate > 0; }))
    return refuse(text, "never sends anything: at least one rate must be more than 0");
  return ArrivalPlan::steps(rates, *every);
}

Parsed parse_bursts(std::string_view text, std::string_view rest) {
  const auto cut = cut_at(rest, " every ");
  if (!cut) return refuse(text, "does not say how often: write burst:100 every 50ms");
  const std::string_view digits = cut->first;
  const uint64_t count = parse_text<uint64_t>(digits).value_or(0);
  if (count == 0 || count > kMostBurst) {
    return refuse(text, fmt::format("has bursts of '{}', which is not a count from 1 to {}", digits, kMostBurst));
  }
  const std::optional<Duration> every = parse_period(cut->second);
  if (!every) return refuse(text, fmt::format("has bursts every '{}', which is not a time such as 50ms", cut->second));
  if (static_cast<double>(count) * 1e9 / static_cast<double>(every->count()) > kMostRate) {
    return refuse(text, fmt::format("asks for more than {:.0f} messages a second", kMostRate));
  }
  return ArrivalPlan::bursts(count, *every);
}

// Parses a time in seconds, such as "12.0025", without rounding. Returns std::nullopt in these cases:
// - The text is not a decimal number, or it has a sign.
// - The text has a point, but no digit before the point or no digit after the point.
// - The number has more than nine decimal places.
// - The time is longer than 7 days (kLongest).
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

Parsed read_arrivals_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  const auto trouble = [&path](std::string_view why) {
    return std::unexpected(fmt::format("--arrivals: the file '{}' {}", path, why));
  };
  if (!file) return trouble(fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::vector<Duration> offsets;
  std::array<char, kLongestLine + 1> line{};
  for (size_t number = 1; file.getline(line.data(), line.size()) || file.gcount() > 0; ++number) {
    if (!file && !file.eof()) return trouble(fmt::format("has more than {} bytes in line {}", kLongestLine, number));
    // gcount() is the length of the line, with the newline at its end. So 1 is subtracted. Only the last line of a file
    // may have no newline. In this case eof() is true, and nothing is subtracted. A line that is too long for `line`
    // was refused above.
    std::string_view text(line.data(), static_cast<size_t>(file.gcount()) - (file.eof() ? 0 : 1));
    text = trimmed(text.substr(0, text.find('#')));
    if (text.empty()) continue;
    const std::optional<Duration> offset = parse_offset(text);
    if (!offset) {
      return trouble(fmt::format("has '{}' in line {}, which is not a time in seconds such as 0.0025", text, number));
    }
    if (!offsets.empty() && *offset < offsets.back()) {
      return trouble(fmt::format("goes back in time in line {}: its times must ascend", number));
    }
    if (offsets.size() == kMostFileArrivals) return trouble(fmt::format("has more than {} lines", kMostFileArrivals));
    offsets.push_back(*offset);
  }
  if (file.bad() || !file.eof()) return trouble("cannot be read");
  if (offsets.empty()) return trouble("has no arrivals");
  return ArrivalPlan::at(std::move(offsets));
}

}  // namespace

Parsed parse_arrivals(std::string_view text, double rate, Duration run) {
  const bool constant = text == "constant";
  if (constant || text == "poisson") {
    if (rate <= 0) return refuse(text, "needs a --rate");
    if (!constant && rate > kMostPoisson) {
      return refuse(text, fmt::format("draws each arrival, so its rate may be at most {:.0f}/s", kMostPoisson));
    }
    return constant ? ArrivalPlan::constant(rate) : ArrivalPlan::poisson(rate);
  }
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view kind = text.substr(0, colon);
  if (colon == text.size() || (kind != "ramp" && kind != "step" && kind != "burst" && kind != "file")) {
    return refuse(text, "must be constant or poisson, or begin with ramp:, step:, burst: or file:");
  }
  if (rate > 0) return refuse(text, "and --rate both say when requests are due: leave one out");
  const std::string_view rest = text.substr(colon + 1);
  if (kind == "ramp") return parse_ramp(text, rest, run);
  if (kind == "step") return parse_steps(text, rest);
  if (kind == "burst") return parse_bursts(text, rest);
  return read_arrivals_file(std::string(rest));
}

}  // namespace peal::load
