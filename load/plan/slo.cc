// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/slo.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include <load/report/report_text.h>

namespace peal::load {
namespace {

constexpr double kLeastPercent = 50;
constexpr double kMostPercent = 99.99;

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

double failed_share(const Outcome& outcome) {
  const auto failed = static_cast<double>(outcome.failures.count());
  const double all = failed + static_cast<double>(outcome.lifetime.messages);
  return all > 0 ? failed / all : 0;
}

std::string why_missed(const Slo& objective, const RunRecord& record) {
  const Outcome& outcome = record.outcome;
  if (objective.kind == Slo::Kind::kErrors) {
    const double share = failed_share(outcome);
    if (share <= objective.share) return {};
    return fmt::format("{:.2g} % of the messages failed, but the objective is {}", 100 * share, objective.text);
  }
  const int64_t value = outcome.total.latency.value_at_percentile(objective.percent);
  if (value <= objective.most.count()) return {};
  return fmt::format("{} is {}", objective.text.substr(0, objective.text.find('=')),
                     human_time(static_cast<double>(value)));
}

// Returns true if the failed check `gate` only reports that messages have failed. Such a check is ignored if an
// objective of the user limits the share of failed messages, for example "errors=0.1%".
bool comes_of_failures(const Gate& gate) {
  constexpr std::array<std::string_view, 3> kNames{"errors", "wrong", "bytes"};
  return std::ranges::find(kNames, gate.name) != kNames.end();
}

}  // namespace

std::expected<Slo, std::string> parse_slo(std::string_view text) {
  const std::string trouble =
      fmt::format("--slo takes p99=1ms (p50 to p99.99), max=10ms or errors=0.1%, not '{}'", text);
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::unexpected(trouble);
  const std::string_view name = text.substr(0, equals);
  std::string_view value = text.substr(equals + 1);
  Slo objective{.text = std::string(text)};
  if (name == "errors") {
    if (!value.ends_with('%')) return std::unexpected(trouble);
    value.remove_suffix(1);
    const std::optional<double> percent = parse_number(value);
    if (!percent || !(*percent >= 0 && *percent <= 100)) return std::unexpected(trouble);
    objective.kind = Slo::Kind::kErrors;
    objective.share = *percent / 100;
    return objective;
  }
  const std::optional<Duration> most = parse_duration(value);
  if (!most || *most <= Duration::zero()) return std::unexpected(trouble);
  objective.most = *most;
  objective.percent = 100;
  if (name == "max") return objective;
  const std::optional<double> percent = name.starts_with('p') ? parse_number(name.substr(1)) : std::nullopt;
  if (!percent || !(*percent >= kLeastPercent && *percent <= kMostPercent)) return std::unexpected(trouble);
  objective.percent = *percent;
  return objective;
}

std::string why_not_held(const std::vector<Slo>& objectives, const RunRecord& record) {
  if (record.outcome.total.latency.empty()) return "no message came back";
  for (const Slo& objective : objectives) {
    if (std::string why = why_missed(objective, record); !why.empty()) return why;
  }
  const bool may_fail =
      std::ranges::any_of(objectives, [](const Slo& objective) { return objective.kind == Slo::Kind::kErrors; });
  for (const Gate& gate : record.gates) {
    if (gate.verdict == Verdict::kInvalid && !(may_fail && comes_of_failures(gate))) return gate.sentence;
  }
  return {};
}

}  // namespace peal::load
