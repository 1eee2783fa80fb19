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
// The lowest plausible CPU time per message, in nanoseconds. No server can read and answer a message in less time. A
// lower value means that the measured process is not the server.
constexpr double kLeastCpuNs = 50;
// The limit that decides whether a server holds the rate of the send schedule. If a server is too slow, its messages
// queue up, so the last ones are answered long after the end of the slice. For each slice of the server, the judge
// computes (A - M) / L:
// - A: the time from the start of the slice until all messages are answered
// - M: the median latency of the slice. M is subtracted because even a fast server needs some time for the last answer.
// - L: the length of the slice
// The server holds the rate if the median of these values over all its slices is at most this limit.
//
// Example: a server steadily falls behind, so its latency grows from almost 0 to D during the slice. For this server, M
// is about D / 2, and A is L + D. So (A - M) / L is 1 + D / (2 L), and the limit 1.03 allows a D of at most 6 % of L.
constexpr double kMostDrain = 1.03;
// The CPU time that a server may use while no message is in flight, as a share of one core. If a server uses more, the
// report contains a warning, for two reasons. This CPU time counts as a cost of the server's messages, and this time
// may be missing for the other servers.
constexpr double kMostIdleCpu = 0.1;
// Two limits for the machine of the servers. If one of them is exceeded, the report says that other work disturbed this
// machine. The limits are checked only if the servers run on another machine than the load generator. The generator's
// machine is checked only in duels that the lab has started: versus/gates.py has the same limits.
constexpr double kMostStolen = 0.01;  // how much of all its CPU time the hypervisor may take away
constexpr double kMostForeign = 0.1;  // how much of one core other programs may use
// Late CPU time is the CPU time that a server uses so long after its last slice that no slice includes the time. CPU
// time that an idle server uses steadily is not late (DuelSideRecord::late_cpu). Late CPU time is measured only in the
// first restart. The figures of the server are invalid, because too much CPU time is missing in them, if both of these
// are true:
// - The late CPU time is more than kMostLateCpu, as a share of the CPU time that the slices of the first restart
//   include (DuelSideRecord::charged_cpu).
// - The late CPU time is at least kLeastLateCpu. So less late CPU time is always accepted, even if the slices include
//   hardly any CPU time.
constexpr double kMostLateCpu = 0.05;
constexpr Duration kLeastLateCpu = std::chrono::milliseconds(5);

bool is_latency(DuelMetric metric) { return metric == DuelMetric::kP50 || metric == DuelMetric::kP99; }

// Sums over all slices of one contender in one restart.
struct RestartSum {
  double messages = 0;
  double seconds = 0;
  double client_cpu_ns = 0;  // CPU time of the generator without spinning
  double server_cpu_ns = 0;  // sum over the slices whose server CPU time is known
  double charged = 0;        // messages of the slices whose server CPU time is known
  double charged_ns = 0;     // total length of the slices whose server CPU time is known
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

// Returns the value of `metric` for one contender in one restart. `sum` is the sum of the slices of this contender and
// restart. If the restart gave no value, the result is 0 or NaN. For example, a latency is 0 if no message was
// answered, and a quotient is NaN if its divisor would be 0. restart_value() treats 0 and NaN as missing.
double value_of(const RestartSum& sum, DuelMetric metric) {
  switch (metric) {
    case DuelMetric::kServerCpu: return sum.charged > 0 ? sum.server_cpu_ns / sum.charged : kNothing;
    case DuelMetric::kRate: return sum.seconds > 0 ? sum.messages / sum.seconds : kNothing;
    case DuelMetric::kP50: return static_cast<double>(sum.latency.p50_ns);
    case DuelMetric::kP99: return static_cast<double>(sum.latency.p99_ns);
  }
  return kNothing;
}

// Returns false if much CPU time of the contender's server may be missing, because both of these are true:
// - A process of the server has children and ignores SIGCHLD. The kernel then does not keep the CPU time of children
//   that have ended.
// - Each connection carries a limited number of requests, so connections are closed during the duel. If the server has
//   one child process per connection, these children end during the duel.
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

// Calls `value` for the sums of each restart and returns the median of the results. Ignores results that are NaN or
// infinite. Returns nothing if no result is left.
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

// Calls `value` for each slice of the contender. Returns the median of the results, or nothing if the contender has no
// slice.
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

// Returns the reason why no verdict about the contenders `subject` and `rival` can be given. Returns an empty text if a
// verdict can be given. A gate is a condition of a fair duel that was not met (DuelGate). No verdict can be given if a
// gate makes the figures of one of the two contenders invalid. The reason is the sentence of the first such gate.
std::string obstacle_of(const DuelJudgement& judgement, size_t subject, size_t rival) {
  for (const DuelGate& gate : judgement.gates) {
    if (gate.invalid && (gate.contender == subject || gate.contender == rival)) return gate.sentence;
  }
  return {};
}

// Makes the input from which judge_ratios() decides the verdict about `pair`. `pair` must be one of judgement.pairs or
// judgement.claims. The inputs for judgement.twins are made by judge_all(), because they contain less: the verdict
// about a twin depends neither on a gate nor on another twin.
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

// Gives a verdict about each pair of contenders in `judgement`. Holm's method adjusts the p-values for the number of
// comparisons. Each of these groups is adjusted separately:
// - for each metric, the first contender against its twin. If there is one twin, Holm's method does not change the
//   p-value of this single comparison.
// - for each metric, the first contender against all contenders that are no twins
// - all claims, whatever their metrics
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
    // With expect_queueing, the user expects that the server serves only some of its connections at a time. The server
    // may serve only connections on which the generator never sends (LoadOptions::idle_connections). No message is then
    // answered, although the server has no fault. So its figures stay valid, and this gate is only a warning.
    add(!record.options.contenders[contender].expect_queueing, "not a single message came back");
  }
  for (const auto& [kind, failure] : side.failures.kinds) {
    add(true, fmt::format("{} unexpected failures ({}): {}", failure.count, kind, failure.first));
  }
  if (side.latency.clamped_count() > 0) {
    add(true, fmt::format("{} latencies lay outside the histogram's range", side.latency.clamped_count()));
  }
  if (side.has_orphans) {
    add(true, "it left processes whose parents have ended, and their CPU time is not counted");
  }
  const std::optional<double> cpu = figures_of(record, contender).server_cpu_ns;
  if (cpu && *cpu < kLeastCpuNs)
    add(true, fmt::format("{:.0f} ns of CPU a message is too little: the measured process is not the server", *cpu));
  if (!knows_cpu(record, contender)) {
    add(false, "it ignores SIGCHLD, so the CPU time of its ended children is missing");
  }
  if (const double share = static_cast<double>(side.late_cpu.count()) / static_cast<double>(side.charged_cpu.count());
      side.late_cpu >= kLeastLateCpu && share > kMostLateCpu) {
    add(true, fmt::format("it used {} of CPU after the first restart, when every message was answered, and its slices "
                          "were charged {}: work deferred for so long is not counted; raise --rounds",
                          human_time(side.late_cpu), human_time(side.charged_cpu)));
  }
  if (const double idle = idle_share(side); idle > kMostIdleCpu) {
    add(false, fmt::format("it uses {:.0f} % of a core while no message is in flight: this counts as its cost, and "
                           "took CPU time from the others",
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
  add(true, fmt::format("it does not hold the rate: the messages of a slice took {:.2f} times its length", whole));
}

void add_host_gates(const ServerHost& host, std::vector<DuelGate>& gates) {
  const auto elapsed = static_cast<double>(host.elapsed.count());
  // If the servers ran on the generator's machine, `foreign` includes the CPU time of the generator. The check of
  // `foreign` would then report a disturbance that did not happen, so this function checks nothing on that machine. If
  // the lab has started the duel, versus/gates.py checks that machine.
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
