// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/gates.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace peal::load {
namespace {

constexpr Verdict kInvalid = Verdict::kInvalid;
constexpr Verdict kNoisy = Verdict::kNoisy;

double milliseconds(double ns) { return ns / 1e6; }

// Little's law says: the mean number of messages in flight is the rate times the mean latency. Returns the reason why
// this law cannot be checked for the run. Returns an empty text if the law can be checked.
std::string why_no_little(const LoadOptions& options, const Outcome& outcome) {
  if (!options.closed_loop()) return {};
  if (!options.requests_per_connection.endless() || outcome.total.counts.retired > 0) {
    return "Little's law was not checked: connections are opened again, and meanwhile nothing is in flight on them.";
  }
  if (!outcome.failures.empty()) {
    return "Little's law was not checked: there were errors, and after one a connection may have nothing in flight.";
  }
  if (outcome.queued.connections > 0) {
    return "Little's law was not checked: messages on connections that wait for their turn never come back.";
  }
  return {};
}

uint64_t clamped_times(const Outcome& outcome) {
  uint64_t clamped = outcome.total.latency.clamped_count() + outcome.connect.clamped_count();
  if (outcome.handshakes) clamped += outcome.handshakes->times.clamped_count();
  for (const auto* part : {&outcome.total.service, &outcome.total.send_lag, &outcome.total.first_byte}) {
    if (*part) clamped += (*part)->clamped_count();
  }
  return clamped;
}

void judge_connections(const LoadOptions& options, const Outcome& outcome, std::vector<Gate>& found) {
  if (outcome.opened + outcome.queued.unopened < options.connections) {
    found.push_back(
        {"connections", kInvalid, fmt::format("{} of {} connections opened.", outcome.opened, options.connections)});
  }
  if (outcome.idle_open < options.idle_connections) {
    found.push_back(
        {"idle_connections", kInvalid,
         fmt::format("{} of {} idle connections were open at the end.", outcome.idle_open, options.idle_connections)});
  }
}

// Checks the answers of the run. Adds a Gate to `found` for each of these faults:
// - Messages or connections failed.
// - Answers were wrong.
// - The server should send back all bytes that it receives, but the number of received bytes is wrong.
// - No message was answered.
// - A time was too long for the histograms, whose limit is 100 s.
void judge_answers(const Outcome& outcome, std::vector<Gate>& found) {
  if (!outcome.failures.empty()) {
    std::vector<std::string> kinds;
    kinds.reserve(outcome.failures.kinds.size());
    for (const auto& [kind, failure] : outcome.failures.kinds) {
      kinds.push_back(fmt::format("{} {} (first: {})", kind, failure.count, failure.first));
    }
    found.push_back({"errors", kInvalid, fmt::format("Unexpected errors: {}.", fmt::join(kinds, "; "))});
  }
  const Counts& all = outcome.lifetime;
  if (all.wrong > 0) {
    found.push_back(
        {"wrong", kInvalid,
         fmt::format("{} of {} answers were not what was asked for.", all.wrong, all.messages + all.wrong)});
  }
  if (outcome.echoes && all.bytes_received + outcome.queued.bytes_owed != all.bytes_sent) {
    found.push_back(
        {"bytes", kInvalid, fmt::format("{} bytes were sent and {} came back.", all.bytes_sent, all.bytes_received)});
  }
  // Reports the fault "nothing" if no message was answered correctly in the measurement. If the run had wrong answers,
  // this report is not needed, because the fault "wrong" was already reported above.
  if (outcome.total.counts.messages == 0 && all.wrong == 0) {
    found.push_back({"nothing", kInvalid, fmt::format("No message came back in {:.3g} s.", outcome.seconds())});
  }
  if (const uint64_t clamped = clamped_times(outcome); clamped > 0) {
    found.push_back({"clamped", kInvalid, fmt::format("{} times lay outside the histogram's range.", clamped)});
  }
}

// Checks two facts about a run with a send schedule:
// - At least 99 % of the scheduled messages were answered correctly. Messages that were shed because of their deadline
//   do not count as scheduled. In addition to the 1 %, one message per thread may be missing, because its answer may
//   come just after the measurement.
// - 99 % of the messages were sent at most 2 ms (kSendLagP99) after their scheduled time.
void judge_rate(const LoadOptions& options, const Outcome& outcome, std::vector<Gate>& found) {
  const auto shed = static_cast<double>(outcome.total.counts.shed);
  const double wanted = std::max(outcome.offered - shed, 0.0);
  const auto messages = static_cast<double>(outcome.total.counts.messages);
  if (messages + static_cast<double>(options.threads) < kLeastAchieved * wanted) {
    const std::string without =
        shed > 0 ? fmt::format(", not counting the {} that were shed", outcome.total.counts.shed) : std::string();
    found.push_back({"achieved", kInvalid,
                     fmt::format("{:.1f} % of the offered {:.0f}/s was achieved{}.", 100 * messages / wanted,
                                 outcome.seconds() > 0 ? outcome.offered / outcome.seconds() : 0, without)});
  }
  const auto late = static_cast<double>(outcome.total.send_lag->value_at_percentile(99));
  if (late > static_cast<double>(kSendLagP99.count())) {
    const auto sends = static_cast<double>(outcome.total.send_lag->total_count());
    const bool busy = static_cast<double>(outcome.total.counts.late_for_want) > 0.01 * sends;
    found.push_back({"send_lag", kNoisy,
                     fmt::format("1 % of the sends left more than {:.1f} ms late{}.", milliseconds(late),
                                 busy ? ", because no connection was idle" : "")});
  }
}

// Checks the run by Little's law: the mean number of messages in flight is the rate times the mean time from sending to
// the answer. Compares this number with the room, which is how many messages all open connections together may have in
// flight:
// - Closed loop: both numbers must be equal. A difference of 5 % is allowed.
// - Open loop: the mean number in flight must not be more than 5 % above the room.
void judge_flight(const LoadOptions& options, const Outcome& outcome, std::vector<Gate>& found) {
  if (outcome.total.counts.messages == 0 || outcome.opened == 0 || !why_no_little(options, outcome).empty()) return;
  const auto room = static_cast<double>(outcome.opened * options.pipeline);
  const Histogram& times = outcome.total.service ? *outcome.total.service : outcome.total.latency;
  const double flight = outcome.messages_per_s() * times.mean() * 1e-9;
  if (options.closed_loop() && std::abs(flight / room - 1) > kLittleOff) {
    found.push_back(
        {"little", kNoisy,
         fmt::format("Rate times mean latency gives {:.1f} messages in flight, not {:.0f}.", flight, room)});
  } else if (!options.closed_loop() && flight > room * (1 + kLittleOff)) {
    found.push_back(
        {"little", kNoisy,
         fmt::format("Rate times mean service time gives {:.1f} messages in flight, but {} connections have "
                     "room for only {:.0f}.",
                     flight, outcome.opened, room)});
  }
}

// Checks whether the load generator was the bottleneck because it used its cores almost fully. Does not make this check
// with --spin, because the generator then polls busily and always uses its cores fully. Also reports a fault if the CPU
// time of the server could not be read.
void judge_cpu(const LoadOptions& options, const Outcome& outcome, std::vector<Gate>& found) {
  if (outcome.server && !outcome.server->cpu) {
    found.push_back({"server_cpu", kInvalid, "The server's CPU time could not be read."});
  }
  const double own = outcome.client_share(options);
  if (own <= kFullCore || options.spin.mode != Spin::Mode::kOff) return;
  const Verdict verdict = options.closed_loop() ? kNoisy : kInvalid;
  if (!outcome.knows_server_cpu()) {
    found.push_back({"generator", kNoisy,
                     fmt::format("The generator kept its {} {:.0f} % busy: without --server-pid it is not known "
                                 "whether the generator was the bottleneck.",
                                 options.threads == 1 ? "core" : "cores", 100 * own)});
  } else if (outcome.server_share(options) < kFullCore) {
    found.push_back(
        {"generator", verdict,
         fmt::format("The generator kept its {} {:.0f} % busy and the server {:.0f} %: the generator was the "
                     "bottleneck, so the throughput is a lower bound.",
                     options.threads == 1 ? "core" : "cores", 100 * own, 100 * outcome.server_share(options))});
  }
}

}  // namespace

std::string_view to_string(Verdict verdict) { return verdict == kInvalid ? "INVALID" : "NOISY"; }

std::vector<Gate> judge(const LoadOptions& options, const Outcome& outcome) {
  std::vector<Gate> found;
  judge_connections(options, outcome, found);
  judge_answers(outcome, found);
  if (!options.closed_loop()) judge_rate(options, outcome, found);
  judge_flight(options, outcome, found);
  judge_cpu(options, outcome, found);
  const double wanted = std::chrono::duration<double>(options.duration).count();
  if (outcome.interrupted) {
    found.push_back(
        {"interrupted", kNoisy, fmt::format("Interrupted after {:.3g} of {:.3g} s.", outcome.seconds(), wanted)});
  } else if (!outcome.failures.empty() && outcome.seconds() < kLeastOfDuration * wanted) {
    found.push_back({"ended_early", kInvalid,
                     fmt::format("The run ended after {:.3g} of {:.3g} s, because no connection was left.",
                                 outcome.seconds(), wanted)});
  }
  put_gravest_first(found);
  return found;
}

std::vector<SkippedGate> skipped_gates(const LoadOptions& options, const Outcome& outcome) {
  std::vector<SkippedGate> skipped;
  if (std::string why = why_no_little(options, outcome); !why.empty()) skipped.push_back({"little", std::move(why)});
  if (!outcome.echoes) {
    skipped.push_back({"bytes", "Bytes sent and received were not compared: answers differ from their requests."});
  }
  if (options.spin.mode != Spin::Mode::kOff) {
    skipped.push_back({"generator", "The generator's own load was not judged: with --spin it is always busy."});
  }
  return skipped;
}

void put_gravest_first(std::vector<Gate>& gates) {
  // Puts INVALID gates before NOISY gates, and otherwise keeps their order. std::stable_sort() could do this, but with
  // libstdc++ 12, clang warns about it. The reason: this version of std::stable_sort() calls
  // std::get_temporary_buffer(), which is deprecated.
  std::vector<Gate> sorted;
  for (const Verdict verdict : {kInvalid, kNoisy}) {
    std::ranges::copy_if(gates, std::back_inserter(sorted),
                         [verdict](const Gate& gate) { return gate.verdict == verdict; });
  }
  gates = std::move(sorted);
}

bool is_invalid(const std::vector<Gate>& gates) {
  return std::ranges::find(gates, kInvalid, &Gate::verdict) != gates.end();
}

}  // namespace peal::load
