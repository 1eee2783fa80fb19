// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_options.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <peal/base/ascii.h>
#include <peal/wire/parse_text.h>

namespace peal::load {
namespace {

constexpr double kLeastBar = 0.001;
constexpr double kMostBar = 1000;

std::optional<double> parse_bar(std::string_view text) {
  const auto bar = parse_text<double>(text);
  return bar && *bar >= kLeastBar && *bar <= kMostBar ? bar : std::nullopt;
}

std::optional<DuelMetric> parse_metric(std::string_view text) {
  for (const DuelMetric metric : kDuelMetrics) {
    if (to_string(metric) == text) return metric;
  }
  return std::nullopt;
}

std::optional<size_t> find(const std::vector<DuelContender>& contenders, std::string_view name) {
  const auto found = std::ranges::find(contenders, name, &DuelContender::name);
  if (found == contenders.end()) return std::nullopt;
  return static_cast<size_t>(found - contenders.begin());
}

std::string queueing_trouble(const DuelOptions& options) {
  const auto queued = std::ranges::find(options.contenders, true, &DuelContender::expect_queueing);
  if (queued == options.contenders.end()) return {};
  if (!options.in_turn) {
    return fmt::format("connections that wait for {} would be served while others play: give --in-turn", queued->name);
  }
  if (!options.load.closed_loop())
    return fmt::format("{} serves only some connections at a time, so it cannot hold a --rate", queued->name);
  return {};
}

std::string claim_trouble(const DuelOptions& options, const DuelClaim& claim) {
  for (const size_t side : {claim.subject, claim.rival}) {
    const DuelContender& contender = options.contenders[side];
    if (claim.metric != DuelMetric::kServerCpu || contender.restarts() || contender.pid) continue;
    return fmt::format("the claim '{}' is about CPU time: name the process of {} with --pid", claim.text,
                       options.contenders[contender.twin_of.value_or(side)].name);
  }
  if (claim.metric == DuelMetric::kRate && !options.load.closed_loop()) {
    return fmt::format("the claim '{}' is about the rate, which --rate fixes", claim.text);
  }
  if ((claim.metric == DuelMetric::kP50 || claim.metric == DuelMetric::kP99) && !options.shows_latency()) {
    return fmt::format("the claim '{}' is about latency: that takes slices of at least 500ms", claim.text);
  }
  return {};
}

}  // namespace

std::string_view to_string(DuelMetric metric) {
  switch (metric) {
    case DuelMetric::kServerCpu: return "cpu";
    case DuelMetric::kRate: return "rate";
    case DuelMetric::kP50: return "p50";
    case DuelMetric::kP99: return "p99";
  }
  return "";
}

bool DuelOptions::knows_cpu() const {
  return std::ranges::all_of(contenders, [](const DuelContender& each) { return each.restarts() || each.pid; });
}

bool DuelOptions::restart_all() const { return std::ranges::all_of(contenders, &DuelContender::restarts); }

DuelMetric DuelOptions::headline() const {
  if (knows_cpu()) return DuelMetric::kServerCpu;
  return load.closed_loop() ? DuelMetric::kRate : DuelMetric::kP50;
}

std::vector<DuelContender> with_twin(std::vector<DuelContender> contenders) {
  DuelContender twin = contenders.front();
  twin.name += "-twin";
  twin.twin_of = 0;
  contenders.push_back(std::move(twin));
  return contenders;
}

std::expected<DuelClaim, std::string> parse_claim(std::string_view text, const std::vector<DuelContender>& contenders,
                                                  DuelMetric usual) {
  const auto wrong = [text](std::string_view why) {
    return std::unexpected(
        fmt::format("--claim takes '[cpu:|rate:|p50:|p99:]A/B <= 1.05' or '>=', not '{}': {}", text, why));
  };
  DuelClaim claim{.text = std::string(trimmed(text)), .metric = usual};
  const size_t sign = text.find('=');
  if (sign == std::string_view::npos || sign == 0 || (text[sign - 1] != '<' && text[sign - 1] != '>')) {
    return wrong("it has neither '<=' nor '>='");
  }
  claim.bar.side = text[sign - 1] == '<' ? Bar::Side::kAtMost : Bar::Side::kAtLeast;
  const std::optional<double> bar = parse_bar(trimmed(text.substr(sign + 1)));
  if (!bar) return wrong("the bar must be a number from 0.001 to 1000");
  claim.bar.ratio = *bar;
  std::string_view names = trimmed(text.substr(0, sign - 1));
  if (const size_t colon = names.find(':'); colon != std::string_view::npos) {
    const std::optional<DuelMetric> metric = parse_metric(trimmed(names.substr(0, colon)));
    if (!metric) return wrong("the word before the colon must be cpu, rate, p50 or p99");
    claim.metric = *metric;
    names = trimmed(names.substr(colon + 1));
  }
  const size_t slash = names.find('/');
  if (slash == std::string_view::npos) return wrong("it does not name a pair A/B");
  const std::optional<size_t> subject = find(contenders, trimmed(names.substr(0, slash)));
  const std::optional<size_t> rival = find(contenders, trimmed(names.substr(slash + 1)));
  if (!subject || !rival || *subject == *rival) return wrong("A and B must be two different contenders");
  claim.subject = *subject;
  claim.rival = *rival;
  return claim;
}

std::string duel_trouble(const DuelOptions& options) {
  if (options.contenders.size() < 2 || options.contenders.size() > kMostContenders) {
    return fmt::format("a duel takes 2 to {} contenders, its twin among them, not {}", kMostContenders,
                       options.contenders.size());
  }
  std::set<std::string_view> names;
  for (const DuelContender& contender : options.contenders) {
    if (!names.insert(contender.name).second) return fmt::format("there are two contenders named '{}'", contender.name);
  }
  if (options.slice < kShortestSlice) return "a slice is at least 5ms: a shorter one is mostly start and end";
  if (!options.load.closed_loop() && !options.shows_latency()) {
    return "at a fixed rate a slice is at least 500ms: shorter slices hide queueing";
  }
  if (options.rounds == 0 || options.rounds > kMostDuelRounds)
    return fmt::format("a restart has 1 to {} rounds", kMostDuelRounds);
  if (options.restarts > kMostRestarts) return fmt::format("a duel has 1 to {} restarts", kMostRestarts);
  if (!(options.precision > 0 && options.precision < 1)) return "--precision must be more than 0 % and less than 100 %";
  if (options.server_threads == 0 || options.server_threads > kMostThreads) {
    return fmt::format("a server has 1 to {} threads", kMostThreads);
  }
  if (std::string trouble = queueing_trouble(options); !trouble.empty()) return trouble;
  for (const DuelClaim& claim : options.claims) {
    if (std::string trouble = claim_trouble(options, claim); !trouble.empty()) return trouble;
  }
  const auto slices = static_cast<int64_t>(options.contenders.size() * (options.rounds + 1));
  if (options.slice > options.budget / slices) {
    return fmt::format("a restart of {} slices takes longer than --budget: raise it, or lower --rounds", slices);
  }
  LoadOptions load = options.load;
  load.target =
      options.contenders.front().restarts() ? *SocketAddress::parse("127.0.0.1:1") : options.contenders.front().target;
  load.target_text = options.contenders.front().name;
  return options_trouble(load);
}

}  // namespace peal::load
