// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_bout.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <load/duel/duel_side.h>
#include <load/duel/server_process.h>
#include <load/report/report_text.h>
#include <load/server_probe.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

using Trouble = std::optional<std::string>;

// Limits two waits. settle_accounts() waits for deferred work of servers, and connect() for give_up_connecting().
constexpr Duration kLongestSettling = std::chrono::milliseconds(50);
// wait_for_the_late() measures the CPU time of each server in this many equal intervals. The median of these CPU times
// counts as what the idle server always uses, so only CPU time above the median counts as deferred work.
constexpr size_t kLateLooks = 20;
constexpr int kBudgetPerLate = 20;  // the wait for deferred work takes at most 1/20 of the budget

uint64_t switches_of(const ServerLook& look) { return look.voluntary_switches + look.involuntary_switches; }

// Assigns the CPU time of one server to slices. In a slice, the load generator sends messages to one server only.
struct CpuAccount {
  std::optional<ServerProbe> probe;  // set if the server was already running; otherwise ServerCrew reads the CPU time
  ServerLook before{};
  uint64_t rss_start_bytes = 0;  // memory before the first connection
  std::optional<size_t> slice = {};
};

class Bout {
 public:
  Bout(DuelLoop& loop, const DuelProtocol& protocol, std::unique_ptr<ServerCrew> crew, std::vector<size_t> players,
       std::mt19937_64& random, DuelRecord& record, PlayedRestart& played);
  ~Bout();
  Bout(const Bout&) = delete;
  Bout& operator=(const Bout&) = delete;
  Trouble play(const OnRound& on_round);

 private:
  Trouble start_servers();
  Trouble start_generator();
  Trouble look_before_connecting();
  Trouble connect();
  Trouble play_rounds(const OnRound& on_round);
  Trouble play_slice(size_t contender, size_t place);
  Trouble await_answers(size_t contender);
  Trouble rest();
  // Returns true if the sending does not stop between two slices of a contender, which requires in_turn and a closed
  // loop. With in_turn, no other contender plays in between. In an open loop, each slice has its own send schedule.
  bool goes_on() const { return options_.in_turn && options_.load.closed_loop(); }
  // Charges the CPU time that the server has used since the last reading to the server's current slice. Then makes
  // slices_[next_slice] the current slice. If `next_slice` is unset, later CPU time is charged to no slice.
  Trouble charge(size_t contender, std::optional<size_t> next_slice);
  Trouble charge_idle(size_t contender);
  Trouble settle_accounts();
  Trouble wait_for_the_late();
  std::expected<ServerLook, std::string> look_at(size_t contender, CpuAccount& account);
  void leave();
  Trouble find_running();
  Trouble who_ended() { return told(crew_->who_ended()); }
  Trouble told(const ServerCrew::Trouble& trouble) const;
  // Returns the error text "NAME: what: FAILURE". FAILURE is a failure of the contender's connections; if none has
  // failed, the text is "NAME: what". First closes all connections, because collect() may be called only after leave().
  std::string with_reason(size_t contender, std::string_view what);
  // Returns the contender's name for error texts; for a twin (a copy of a contender), the name of the original.
  const std::string& name(size_t contender) const {
    return options_.contenders[options_.contenders[contender].twin_of.value_or(contender)].name;
  }
  bool stopped() const { return loop_.stopped(); }

  DuelLoop& loop_;
  const DuelProtocol& protocol_;
  const std::unique_ptr<ServerCrew> crew_;
  std::mt19937_64& random_;
  DuelRecord& record_;
  const DuelOptions& options_;
  std::vector<SliceRecord>& slices_;
  std::vector<DuelSideRecord>& totals_;
  // One per contender; null if its server's CPU time is unknown. Contenders with the same server share an account.
  std::vector<std::shared_ptr<CpuAccount>> accounts_;
  std::vector<size_t> order_;  // indices of the contenders, in playing order; shuffled again before each round
  std::vector<std::unique_ptr<DuelSide>> sides_;
  std::unique_ptr<LoopGroup> group_;  // declared after sides_, so that its threads, which use sides_, end first
};

Bout::Bout(DuelLoop& loop, const DuelProtocol& protocol, std::unique_ptr<ServerCrew> crew, std::vector<size_t> players,
           std::mt19937_64& random, DuelRecord& record, PlayedRestart& played)
    : loop_(loop),
      protocol_(protocol),
      crew_(std::move(crew)),
      random_(random),
      record_(record),
      options_(record.options),
      slices_(played.slices),
      totals_(played.totals),
      accounts_(options_.contenders.size()),
      order_(std::move(players)) {}

Bout::~Bout() {
  leave();
  crew_->end(options_.patience.end);
}

Trouble Bout::play(const OnRound& on_round) {
  using Step = Trouble (Bout::*)();
  for (const Step step :
       {&Bout::start_servers, &Bout::start_generator, &Bout::look_before_connecting, &Bout::connect}) {
    if (Trouble trouble = (this->*step)(); trouble || stopped()) return trouble;
  }
  Trouble trouble = play_rounds(on_round);
  if (!trouble && !stopped()) trouble = rest();
  if (!trouble && !stopped()) trouble = settle_accounts();
  for (const size_t place : crew_->who_left_orphans()) totals_[place].has_orphans = true;
  leave();
  if (trouble || stopped()) return trouble;
  for (const size_t i : order_) sides_[i]->collect(totals_[i]);
  return std::nullopt;
}

Trouble Bout::told(const ServerCrew::Trouble& trouble) const {
  if (!trouble) return std::nullopt;
  return trouble->place ? fmt::format("{}: {}", name(*trouble->place), trouble->sentence) : trouble->sentence;
}

Trouble Bout::start_servers() {
  for (const size_t i : order_) {
    const DuelContender& contender = options_.contenders[i];
    if (!contender.restarts()) continue;
    loop_.look();
    if (stopped()) return std::nullopt;
    if (Trouble trouble = told(crew_->start(i, contender.command))) return trouble;
  }
  return told(crew_->await_listening(options_.patience.start));
}

// Makes accounts_. Returns an error if a process id that the user gave is not that of a server, or cannot be measured.
Trouble Bout::find_running() {
  std::map<int, std::shared_ptr<CpuAccount>> by_process;
  for (const size_t i : order_) {
    if (crew_->has(i)) accounts_[i] = std::make_shared<CpuAccount>();
    const std::optional<int> pid = options_.contenders[i].pid;
    if (crew_->has(i) || !pid) continue;
    if (const std::string_view why = why_no_server(*pid); !why.empty()) {
      return fmt::format("{}: process {} is {}, not a server", name(i), *pid, why);
    }
    std::shared_ptr<CpuAccount>& account = by_process[*pid];
    if (!account) {
      Result<ServerProbe> probe = ServerProbe::of(*pid);
      if (!probe) return fmt::format("{}: there is no process {}, or its CPU time is hidden", name(i), *pid);
      account = std::make_shared<CpuAccount>(std::move(*probe));
    }
    accounts_[i] = account;
  }
  return std::nullopt;
}

Trouble Bout::start_generator() {
  if (Trouble trouble = find_running()) return trouble;
  const LoadOptions& load = options_.load;
  Result<std::unique_ptr<LoopGroup>> group =
      LoopGroup::start(load.threads, {.engine = load.engine, .spin = load.spin}, "load");
  if (!group) return fmt::format("the generator's threads cannot be started: {}", group.error().message());
  group_ = std::move(*group);
  record_.engine = (*group_)[0].engine().name();
  // The memory addresses of the generator's data influence the measured cost of a server. So this loop creates the data
  // in the order order_, which is shuffled for each restart. No contender gets the best addresses every time.
  sides_.resize(options_.contenders.size());
  for (const size_t i : order_) {
    const DuelContender& contender = options_.contenders[i];
    LoadOptions mine = load;
    mine.target = crew_->has(i) ? crew_->address(i) : contender.target;
    mine.target_text = crew_->has(i) ? mine.target.to_string() : contender.target_text;
    mine.layer = contender.layer;
    mine.host = contender.host;
    mine.expect_queueing = contender.expect_queueing;
    std::unique_ptr<Protocol> spoken = protocol_(contender, crew_->has(i) ? mine.target_text : std::string());
    sides_[i] = std::make_unique<DuelSide>(mine, std::move(spoken), *group_, loop_.loop());
  }
  return std::nullopt;
}

// Reads each server's memory use before the generator connects. The report has this value and the highest value.
Trouble Bout::look_before_connecting() {
  for (const size_t i : order_) {
    if (!accounts_[i]) continue;
    const auto look = look_at(i, *accounts_[i]);
    if (!look) return look.error();
    accounts_[i]->rss_start_bytes = look->rss_bytes;
  }
  return std::nullopt;
}

// Opens the connections to all contenders at the same time. Connections that are opened first get other kernel memory
// than later ones. With a thousand connections, this difference changes the measured cost by 5 %.
Trouble Bout::connect() {
  for (const size_t i : order_) sides_[i]->connect();
  const auto all_settled = [this] {
    return std::ranges::all_of(order_, [this](size_t i) { return sides_[i]->settled(); });
  };
  if (!loop_.until(loop_.now() + options_.load.connect_timeout, all_settled) && !stopped()) {
    for (const size_t i : order_) {
      if (options_.contenders[i].expect_queueing) sides_[i]->give_up_connecting();
    }
    loop_.until(loop_.now() + kLongestSettling, all_settled);
  }
  if (stopped()) return std::nullopt;
  for (const size_t i : order_) {
    if (!sides_[i]->settled() || sides_[i]->is_lost()) {
      if (Trouble trouble = who_ended()) return trouble;
      return with_reason(i, "not every connection could be opened");
    }
  }
  return std::nullopt;
}

Trouble Bout::play_rounds(const OnRound& on_round) {
  for (size_t round = 0; round <= options_.rounds; ++round) {
    for (const size_t i : order_) {
      if (round == 1) totals_[i] = {};  // deletes the totals of round 0, which was the warm-up
    }
    std::ranges::shuffle(order_, random_);
    for (size_t place = 0; place < order_.size(); ++place) {
      if (Trouble trouble = play_slice(order_[place], place)) return trouble;
      if (stopped()) return std::nullopt;
      slices_.back().restart = record_.restarts;
      slices_.back().round = round;
    }
    if (on_round) on_round(round);
  }
  return std::nullopt;
}

Trouble Bout::play_slice(size_t contender, size_t place) {
  DuelSide& side = *sides_[contender];
  if (Trouble trouble = charge(contender, slices_.size())) return trouble;
  const TimePoint start = loop_.now();
  side.play(start);
  loop_.pass(options_.slice);
  if (goes_on()) {
    side.cut();
  } else {
    side.pause();
  }
  if (Trouble trouble = await_answers(contender); trouble || !side.quiet()) return trouble;
  slices_.push_back(side.take(totals_[contender]));
  slices_.back().place = place;
  slices_.back().contender = contender;
  return std::nullopt;
}

// Waits for the end of the slice (DuelSide::quiet()). Returns an error if the wait exceeds patience.answer, if a server
// has ended, or if all connections are lost. A stop of the duel is no error, because the callers check stopped().
Trouble Bout::await_answers(size_t contender) {
  const DuelSide& side = *sides_[contender];
  const bool quiet = loop_.until(loop_.now() + options_.patience.answer, [&] { return side.quiet(); });
  if (!quiet && stopped()) return std::nullopt;
  if (Trouble trouble = who_ended()) return trouble;
  if (!quiet) {
    return with_reason(contender, fmt::format("not every message was answered within {} after its slice",
                                              human_time(options_.patience.answer)));
  }
  if (side.is_lost()) return with_reason(contender, "every connection is lost");
  return std::nullopt;
}

// Called after the last slice. Does nothing if goes_on() is false. Otherwise the generator still sends, so rest() stops
// the sending. Charges the CPU time until now to the last slice, and later CPU time to no slice.
Trouble Bout::rest() {
  if (!goes_on()) return std::nullopt;
  for (const size_t i : order_) {
    if (Trouble trouble = charge(i, std::nullopt)) return trouble;
    sides_[i]->pause();
    if (options_.contenders[i].expect_queueing) continue;  // connections that the server queues are never answered
    if (Trouble trouble = await_answers(i)) return trouble;
  }
  return std::nullopt;
}

std::expected<ServerLook, std::string> Bout::look_at(size_t contender, CpuAccount& account) {
  if (!account.probe) {
    const std::expected<ServerLook, ServerFault> look = crew_->look(contender);
    if (!look) return std::unexpected(*told(look.error()));
    return *look;
  }
  const Result<ServerLook> look = account.probe->look();
  if (look) return *look;
  if (Trouble trouble = who_ended()) return std::unexpected(std::move(*trouble));
  return std::unexpected(fmt::format("{}: its process {} is gone", name(contender), account.probe->pid()));
}

Trouble Bout::charge(size_t contender, std::optional<size_t> next_slice) {
  CpuAccount* const account = accounts_[contender].get();
  if (account == nullptr) return std::nullopt;
  const auto look = look_at(contender, *account);
  if (!look) return look.error();
  if (account->slice) {
    slices_[*account->slice].server_cpu = look->cpu - account->before.cpu;
    slices_[*account->slice].server_switches = switches_of(*look) - switches_of(account->before);
  }
  account->before = *look;
  account->slice = next_slice;
  DuelSideRecord& totals = totals_[contender];
  totals.rss_start_bytes = account->rss_start_bytes;
  totals.rss_bytes = std::max(totals.rss_bytes, look->rss_bytes);
  totals.processes = look->processes;
  totals.forgets_children |= look->forgets_children;
  return std::nullopt;
}

Trouble Bout::charge_idle(size_t contender) {
  CpuAccount* const account = accounts_[contender].get();
  if (account == nullptr) return std::nullopt;
  const auto look = look_at(contender, *account);
  if (!look) return look.error();
  totals_[contender].idle_cpu += look->cpu - account->before.cpu;
  totals_[contender].idle_time += look->at - account->before.at;
  account->before = *look;
  return std::nullopt;
}

// Waits briefly, because servers may defer work until after their slices. Charges the CPU time of this wait to the last
// slices, unless rest() has ended them. After that, measures the CPU time that the idle servers use.
Trouble Bout::settle_accounts() {
  const Duration pause = std::min(options_.slice, kLongestSettling);
  loop_.pass(pause);
  for (const size_t i : order_) {
    if (Trouble trouble = charge(i, std::nullopt)) return trouble;
  }
  if (record_.restarts == 0) return wait_for_the_late();
  loop_.pass(pause);
  for (const size_t i : order_) {
    if (Trouble trouble = charge_idle(i)) return trouble;
  }
  return std::nullopt;
}

// Measures the CPU time that servers use long after their last slices. No slice is charged for this late CPU time, but
// much of it makes the duel invalid. Called only in the first restart, because the wait is long.
Trouble Bout::wait_for_the_late() {
  const Duration patience = std::min(options_.patience.late, options_.budget / kBudgetPerLate) *
                            static_cast<int64_t>(order_.size()) / static_cast<int64_t>(sides_.size());
  std::vector<std::vector<Duration>> used(sides_.size());
  for (size_t looks = 0; looks < kLateLooks && !stopped(); ++looks) {
    loop_.pass(patience / kLateLooks);
    for (const size_t i : order_) {
      const Duration before = totals_[i].idle_cpu;
      if (Trouble trouble = charge_idle(i)) return trouble;
      used[i].push_back(totals_[i].idle_cpu - before);
    }
  }
  if (stopped()) return std::nullopt;
  for (const size_t i : order_) {
    std::ranges::sort(used[i]);
    const Duration steady = used[i][used[i].size() / 2];
    for (const Duration cpu : used[i]) totals_[i].late_cpu += std::max(cpu - steady, Duration::zero());
    for (const SliceRecord& slice : slices_) {
      if (slice.contender == i) totals_[i].charged_cpu += slice.server_cpu.value_or(Duration::zero());
    }
  }
  return std::nullopt;
}

void Bout::leave() {
  if (!group_) return;
  for (const size_t i : order_) sides_[i]->leave();
  group_->stop();
  group_->join();
  // Runs the tasks that the ended threads have posted to this loop. The tasks use sides_, which is destroyed soon.
  bool heard = false;
  loop_.loop().post([&heard] { heard = true; });
  while (!heard) loop_.loop().step();
}

std::string Bout::with_reason(size_t contender, std::string_view what) {
  leave();
  sides_[contender]->collect(totals_[contender]);
  const Failures& failures = totals_[contender].failures;
  return fmt::format("{}: {}{}", name(contender), what,
                     failures.empty() ? "" : ": " + failures.kinds.begin()->second.first);
}

}  // namespace

std::optional<std::string> play_bout(DuelLoop& loop, const DuelProtocol& protocol, std::unique_ptr<ServerCrew> crew,
                                     std::vector<size_t> players, std::mt19937_64& random, DuelRecord& record,
                                     PlayedRestart& played, const OnRound& on_round) {
  return Bout(loop, protocol, std::move(crew), std::move(players), random, record, played).play(on_round);
}

}  // namespace peal::load
