// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_judge.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <load/report/report_text.h>
#include <load/statistics/significance.h>

namespace peal::load {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kFullCore = 0.85;
// No server takes a message from a socket and answers for less.
constexpr double kLeastCpuNs = 50;
// What a slice at a fixed rate may take longer than it was meant to until what was due in it is answered, beside the
// usual latency. Who falls behind steadily is late at the end by twice that.
constexpr double kMostDrain = 1.03;
// Of one core, while nobody asks for anything.
constexpr double kMostIdleCpu = 0.1;
// Of the CPUs of another machine, on which the servers ran: as versus/gates.py has it of this one.
constexpr double kMostStolen = 0.01;  // of all of them
constexpr double kMostForeign = 0.1;  // of one core
// Beside what was charged: what was put off beyond the end of a restart. Less in all is a server's tidying up.
constexpr double kMostLateCpu = 0.05;
constexpr Duration kLeastLateCpu = std::chrono::milliseconds(5);

bool is_latency(DuelMetric metric) { return metric == DuelMetric::kP50 || metric == DuelMetric::kP99; }

// What a contender's slices of one restart add up to.
struct RestartSum {
  double messages = 0;
  double seconds = 0;
  double client_cpu_ns = 0;  // without spinning
  double server_cpu_ns = 0;  // of the slices of which it is known, and
  double charged = 0;        // the messages of those
  double charged_ns = 0;     // how long they took
  DuelPercentiles latency;
};

std::vector<RestartSum> sums_of(const DuelRecord& record, size_t contender) {
  std::vector<RestartSum> sums(record.restarts);
  for (const SliceRecord& slice : record.slices) {
    if (slice.contender != contender) continue;
    RestartSum& sum = sums[slice.restart];
    const auto messages = static_cast<double>(slice.messages);
    sum.messages += messages;
    sum.seconds += slice.seconds();
    sum.client_cpu_ns += static_cast<double>((slice.client_cpu - slice.spin).count());
    if (!slice.server_cpu) continue;
    sum.server_cpu_ns += static_cast<double>(slice.server_cpu->count());
    sum.charged += messages;
    sum.charged_ns += static_cast<double>(slice.span.count());
  }
  const std::vector<DuelPercentiles>& latency = record.sides[contender].latency_by_restart;
  for (size_t i = 0; i < std::min(sums.size(), latency.size()); ++i) sums[i].latency = latency[i];
  return sums;
}

// Not a number: it says nothing.
double value_of(const RestartSum& sum, DuelMetric metric) {
  switch (metric) {
    case DuelMetric::kServerCpu: return sum.charged > 0 ? sum.server_cpu_ns / sum.charged : kNothing;
    case DuelMetric::kRate: return sum.seconds > 0 ? sum.messages / sum.seconds : kNothing;
    case DuelMetric::kP50: return static_cast<double>(sum.latency.p50_ns);
    case DuelMetric::kP99: return static_cast<double>(sum.latency.p99_ns);
  }
  return kNothing;
}

// What a contender's ended children used is not in its CPU time: where a connection is a request, that is most of it.
bool knows_cpu(const DuelRecord& record, size_t contender) {
  return !record.sides[contender].forgets_children || record.options.load.requests_per_connection.endless();
}

std::vector<DuelMetric> metrics_of(const DuelOptions& options) {
  std::vector<DuelMetric> metrics;
  for (const DuelMetric metric : kDuelMetrics) {
    if (metric == DuelMetric::kServerCpu && !options.knows_cpu()) continue;
    if (metric == DuelMetric::kRate && !options.load.closed_loop()) continue;
    if (is_latency(metric) && !options.shows_latency()) continue;
    metrics.push_back(metric);
  }
  return metrics;
}

// The median over the restarts of what `value` says of each; nothing where it says nothing of any.
template <class Value>
std::optional<double> middle(const std::vector<RestartSum>& sums, Value value) {
  std::vector<double> values;
  for (const RestartSum& sum : sums) {
    if (const double each = value(sum); std::isfinite(each)) values.push_back(each);
  }
  if (values.empty()) return std::nullopt;
  return median_of(std::move(values));
}

DuelFigures figures_of(const DuelRecord& record, size_t contender) {
  const std::vector<RestartSum> sums = sums_of(record, contender);
  const auto threads = static_cast<double>(record.options.load.threads);
  const auto server_threads = static_cast<double>(record.options.server_threads);
  const auto ratio = [](double part, double whole) { return whole > 0 ? part / whole : kNothing; };
  DuelFigures figures;
  figures.client_cpu_ns =
      middle(sums, [&](const RestartSum& sum) { return ratio(sum.client_cpu_ns, sum.messages); }).value_or(0);
  figures.messages_per_s =
      middle(sums, [](const RestartSum& sum) { return value_of(sum, DuelMetric::kRate); }).value_or(0);
  figures.client_share = middle(sums, [&](const RestartSum& sum) {
                           return ratio(sum.client_cpu_ns, sum.seconds * 1e9 * threads);
                         }).value_or(0);
  if (knows_cpu(record, contender)) {
    figures.server_cpu_ns = middle(sums, [](const RestartSum& sum) { return value_of(sum, DuelMetric::kServerCpu); });
    figures.server_share =
        middle(sums, [&](const RestartSum& sum) { return ratio(sum.server_cpu_ns, sum.charged_ns * server_threads); });
  }
  figures.bounded = figures.client_share > kFullCore && figures.server_share.value_or(0) < kFullCore;
  return figures;
}

// The median of `value` over a contender's slices.
template <class Value>
std::optional<double> middle_slice(const DuelRecord& record, size_t contender, Value value) {
  std::vector<double> values;
  for (const SliceRecord& slice : record.slices) {
    if (slice.contender == contender) values.push_back(value(slice));
  }
  if (values.empty()) return std::nullopt;
  return median_of(std::move(values));
}

double idle_share(const DuelSideRecord& side) {
  if (side.idle_time <= Duration::zero()) return 0;
  return static_cast<double>(side.idle_cpu.count()) / static_cast<double>(side.idle_time.count());
}

bool of_processes(const DuelRecord& record, size_t subject, size_t rival) {
  const std::vector<DuelContender>& contenders = record.options.contenders;
  return !contenders[subject].restarts() || !contenders[rival].restarts();
}

DuelPair pair_of(const DuelRecord& record, DuelMetric metric, size_t subject, size_t rival) {
  DuelPair pair{.metric = metric,
                .subject = subject,
                .rival = rival,
                .logs = restart_logs(record, metric, subject, rival),
                .estimate = RatioEstimate({}),
                .why = {},
                .of_processes = of_processes(record, subject, rival)};
  pair.estimate = RatioEstimate(pair.logs);
  return pair;
}

// The first gate that says that the figures of one of the two do not mean what they say.
std::string obstacle_of(const DuelJudgement& judgement, size_t subject, size_t rival) {
  for (const DuelGate& gate : judgement.gates) {
    if (gate.invalid && (gate.contender == subject || gate.contender == rival)) return gate.sentence;
  }
  return {};
}

// What is asked of a pair that is no twin.
RatioQuestion question_of(const DuelRecord& record, const DuelJudgement& judgement, const DuelPair& pair) {
  const std::vector<DuelContender>& contenders = record.options.contenders;
  const bool is_rate = pair.metric == DuelMetric::kRate;
  RatioQuestion question{.subject = contenders[pair.subject].name,
                         .rival = contenders[pair.rival].name,
                         .estimate = pair.estimate,
                         .family = std::string(pair.claim ? "claims" : to_string(pair.metric)),
                         .obstacle = obstacle_of(judgement, pair.subject, pair.rival),
                         .subject_bounded = is_rate && judgement.figures[pair.subject].bounded,
                         .rival_bounded = is_rate && judgement.figures[pair.rival].bounded};
  if (const auto twin = std::ranges::find(judgement.twins, pair.metric, &DuelPair::metric);
      twin != judgement.twins.end()) {
    question.twin = static_cast<size_t>(twin - judgement.twins.begin());
  }
  if (pair.claim) question.asked = pair.claim->bar;
  return question;
}

// The twins are judged each by itself, the pairs of a metric and the claims as families.
void judge_all(const DuelRecord& record, DuelJudgement& judgement) {
  const std::vector<DuelContender>& contenders = record.options.contenders;
  std::vector<RatioQuestion> questions;
  questions.reserve(judgement.twins.size() + judgement.pairs.size() + judgement.claims.size());
  for (const DuelPair& twin : judgement.twins) {
    questions.push_back({.subject = contenders[twin.subject].name,
                         .rival = contenders[twin.rival].name,
                         .estimate = twin.estimate,
                         .family = fmt::format("twin {}", to_string(twin.metric))});
  }
  for (const std::vector<DuelPair>* pairs : {&judgement.pairs, &judgement.claims}) {
    for (const DuelPair& pair : *pairs) questions.push_back(question_of(record, judgement, pair));
  }
  const std::vector<RatioAnswer> answers = judge_ratios(questions);
  auto answer = answers.begin();
  for (std::vector<DuelPair>* pairs : {&judgement.twins, &judgement.pairs, &judgement.claims}) {
    for (DuelPair& pair : *pairs) {
      pair.adjusted_p = answer->adjusted_p;
      pair.verdict = answer->verdict;
      pair.why = answer++->why;
    }
  }
}

bool is_mute(const DuelRecord& record, size_t contender) {
  return std::ranges::none_of(record.slices, [contender](const SliceRecord& slice) {
    return slice.contender == contender && slice.messages > 0;
  });
}

void add_gates(const DuelRecord& record, size_t contender, std::vector<DuelGate>& gates) {
  const DuelSideRecord& side = record.sides[contender];
  const std::string& name = record.options.contenders[contender].name;
  const auto add = [&](bool invalid, const std::string& what) {
    gates.push_back({invalid, fmt::format("{}: {}", name, what), contender});
  };
  if (!side.fault.empty()) {
    add(true, "it was left out; " + side.fault);
  } else if (is_mute(record, contender)) {
    // Idle connections may hold all that it serves at a time.
    add(!record.options.contenders[contender].expect_queueing, "not a single message came back");
  }
  for (const auto& [kind, failure] : side.failures.kinds) {
    add(true, fmt::format("{} failures nobody asked for ({}): {}", failure.count, kind, failure.first));
  }
  if (side.latency.clamped_count() > 0) {
    add(true, fmt::format("{} latencies lay outside the histogram's range", side.latency.clamped_count()));
  }
  if (side.has_orphans) {
    add(true, "a process of a server was left to itself by its parent, and its CPU time is in nobody's account");
  }
  const std::optional<double> cpu = figures_of(record, contender).server_cpu_ns;
  if (cpu && *cpu < kLeastCpuNs)
    add(true, fmt::format("{:.0f} ns of CPU a message: that is not the server's process", *cpu));
  if (!knows_cpu(record, contender)) {
    add(false, "it ignores SIGCHLD, so what its ended children used is not in its CPU time");
  }
  if (const double share = static_cast<double>(side.late_cpu.count()) / static_cast<double>(side.charged_cpu.count());
      side.late_cpu >= kLeastLateCpu && share > kMostLateCpu) {
    add(true, fmt::format("it used {} of CPU after the first restart, all being answered, beside {} that were charged "
                          "to it: what it puts off for so long is in nobody's account; ask for more --rounds",
                          human_time(side.late_cpu), human_time(side.charged_cpu)));
  }
  if (const double idle = idle_share(side); idle > kMostIdleCpu) {
    add(false, fmt::format("it uses {:.0f} % of a core while nobody asks for anything: it is charged for that, and the "
                           "others had less of the CPU",
                           idle * 100));
  }
  if (record.options.load.closed_loop()) return;
  const std::optional<double> taken = middle_slice(record, contender, [&](const SliceRecord& slice) {
    return static_cast<double>((slice.span - Duration(slice.p50_ns)).count()) /
           static_cast<double>(record.options.slice.count());
  });
  if (!taken || *taken <= kMostDrain) return;
  const double whole =
      middle_slice(record, contender, [&](const SliceRecord& slice) {
        return static_cast<double>(slice.span.count()) / static_cast<double>(record.options.slice.count());
      }).value_or(*taken);
  add(true, fmt::format("it does not hold the rate: what was due in a slice took {:.2f} times as long", whole));
}

void add_host_gates(const ServerHost& host, std::vector<DuelGate>& gates) {
  const auto elapsed = static_cast<double>(host.elapsed.count());
  // What happened on this machine is for who started the duel to say, and the generator is no stranger.
  if (host.is_here || elapsed <= 0) return;
  const double stolen =
      static_cast<double>(host.stolen.count()) / elapsed / static_cast<double>(std::max<size_t>(host.cpus, 1));
  const double foreign = static_cast<double>(host.foreign.count()) / elapsed;
  if (stolen > kMostStolen) {
    gates.push_back(
        {false, fmt::format("{}: the hypervisor took {:.1f} % of its CPU time away", host.name, stolen * 100)});
  }
  if (foreign > kMostForeign) {
    gates.push_back(
        {false, fmt::format("{}: other programs used {:.0f} % of one of its cores", host.name, foreign * 100)});
  }
}

}  // namespace

std::vector<double> restart_logs(const DuelRecord& record, DuelMetric metric, size_t subject, size_t rival) {
  const bool unknown = metric == DuelMetric::kServerCpu && !(knows_cpu(record, subject) && knows_cpu(record, rival));
  if (unknown) return std::vector<double>(record.restarts, kNothing);
  const std::vector<RestartSum> of_subject = sums_of(record, subject);
  const std::vector<RestartSum> of_rival = sums_of(record, rival);
  std::vector<double> logs;
  logs.reserve(record.restarts);
  for (size_t i = 0; i < record.restarts; ++i) {
    logs.push_back(restart_value(value_of(of_subject[i], metric), value_of(of_rival[i], metric)));
  }
  return logs;
}

DuelJudgement judge_duel(const DuelRecord& record) {
  DuelJudgement judgement;
  for (size_t i = 0; i < record.options.contenders.size(); ++i) {
    judgement.figures.push_back(figures_of(record, i));
    add_gates(record, i, judgement.gates);
  }
  for (const DuelMetric metric : metrics_of(record.options)) {
    for (size_t i = 1; i < record.options.contenders.size(); ++i) {
      const bool is_twin = record.options.contenders[i].twin_of.has_value();
      (is_twin ? judgement.twins : judgement.pairs).push_back(pair_of(record, metric, i, 0));
    }
  }
  for (const DuelClaim& claim : record.options.claims) {
    judgement.claims.push_back(pair_of(record, claim.metric, claim.subject, claim.rival));
    judgement.claims.back().claim = claim;
  }
  judge_all(record, judgement);
  if (record.server_host) add_host_gates(*record.server_host, judgement.gates);
  if (record.interrupted) judgement.gates.push_back({false, "the duel was interrupted"});
  return judgement;
}

std::vector<DeclaredPair> declared_pairs(const DuelOptions& options) {
  std::vector<DeclaredPair> pairs;
  pairs.reserve(options.claims.size());
  for (const DuelClaim& claim : options.claims) pairs.push_back({claim.metric, claim.subject, claim.rival});
  if (!pairs.empty()) return pairs;
  for (size_t i = 1; i < options.contenders.size(); ++i) {
    if (options.contenders.size() == 2 || !options.contenders[i].twin_of) pairs.push_back({options.headline(), i, 0});
  }
  return pairs;
}

size_t restarts_wanted(const DuelRecord& record) {
  size_t wanted = record.restarts;
  for (const DeclaredPair& pair : declared_pairs(record.options)) {
    const std::vector<double> logs = restart_logs(record, pair.metric, pair.subject, pair.rival);
    wanted = std::max(wanted, restarts_needed(logs, record.options.precision));
  }
  return std::min(wanted, kMostRestarts);
}

}  // namespace peal::load
