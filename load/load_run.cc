// SPDX-License-Identifier: BSD-3-Clause
#include <load/load_run.h>

#include <csignal>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <load/lane.h>
#include <load/server_probe.h>
#include <peal/base/assert.h>
#include <peal/loop/loop_group.h>

namespace peal::load {
namespace {

constexpr Duration kProgressEvery = std::chrono::milliseconds(250);

class LoadRun final : public LaneReports {
 public:
  LoadRun(const LoadOptions& options, const Protocol& protocol, OnProgress on_progress);
  std::expected<Outcome, std::string> run();

 private:
  enum class Phase : uint8_t { kConnecting, kWarming, kMeasuring, kDraining, kDone };
  using Trouble = std::optional<std::string>;

  Trouble prepare();
  Trouble make_lanes();
  void warm();
  void measure();
  void start_clock();
  void look();
  void drain();
  void finish();
  void interrupt();
  void cut_all(CutKind kind);
  void collect();
  template <class Command>
  void tell_all(Command command);

  void on_settled(size_t lane) override;
  void on_cut(size_t lane, Cut cut) override;
  void on_quiet(size_t lane) override;
  void on_deserted(size_t lane) override;
  void take_server_cpu(const Cut& cut);
  void show_progress(const Cut& cut);

  const LoadOptions& options_;
  const Protocol& protocol_;
  OnProgress on_progress_;
  Outcome outcome_;
  Trouble trouble_;
  Phase phase_ = Phase::kConnecting;
  TimerId timer_;  // the phase's end
  TimerId progress_timer_;
  size_t settled_ = 0;
  size_t deserted_ = 0;
  size_t first_cuts_ = 0;
  size_t last_cuts_ = 0;
  size_t quiet_ = 0;
  // Of the server, at the first instant.
  std::optional<clockid_t> server_clock_;
  std::optional<Duration> server_cpu_;
  std::optional<ProcessLook> server_look_;
  // Of the live view.
  Progress progress_;
  size_t looks_left_ = 0;
  uint64_t messages_shown_ = 0;
  TimePoint measured_from_;
  TimePoint shown_at_;
  // The lanes' loops end before the lanes, and both before the loop they report to.
  std::unique_ptr<Loop> loop_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<LoopGroup> group_;
};

LoadRun::LoadRun(const LoadOptions& options, const Protocol& protocol, OnProgress on_progress)
    : options_(options), protocol_(protocol), on_progress_(std::move(on_progress)), outcome_(!options.closed_loop()) {}

std::expected<Outcome, std::string> LoadRun::run() {
  if (Trouble trouble = prepare()) return std::unexpected(std::move(*trouble));
  if (Trouble trouble = make_lanes()) return std::unexpected(std::move(*trouble));
  timer_ = loop_->after(options_.connect_timeout, [this] { tell_all([](Lane& lane) { lane.give_up_connecting(); }); });
  tell_all([](Lane& lane) { lane.connect_all(); });
  const Result<void> ran = loop_->run();
  group_->stop();
  group_->join();
  if (!ran) return std::unexpected(fmt::format("the generator's loop cannot run: {}", ran.error().message()));
  if (trouble_) return std::unexpected(std::move(*trouble_));
  collect();
  return std::move(outcome_);
}

LoadRun::Trouble LoadRun::prepare() {
  if (options_.server_pid) {
    const Result<clockid_t> clock = cpu_clock_of(*options_.server_pid);
    if (!clock) return fmt::format("there is no process {} whose CPU could be read", *options_.server_pid);
    server_clock_ = *clock;
    outcome_.server.emplace();
  }
  Result<std::unique_ptr<Loop>> loop = Loop::make({.engine = "epoll"});
  if (!loop) return fmt::format("the generator has no loop: {}", loop.error().message());
  loop_ = std::move(*loop);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto done = loop_->on_signal(signal, [this] { interrupt(); });
    if (!done) return fmt::format("signals cannot be handled: {}", done.error().message());
  }
  return std::nullopt;
}

LoadRun::Trouble LoadRun::make_lanes() {
  Result<std::unique_ptr<LoopGroup>> group =
      LoopGroup::start(options_.threads, {.engine = options_.engine, .spin = options_.spin}, "load");
  if (!group) return fmt::format("the generator's threads cannot start: {}", group.error().message());
  group_ = std::move(*group);
  outcome_.engine = (*group_)[0].engine().name();
  size_t first = 0;
  for (size_t i = 0; i < options_.threads; ++i) {
    const size_t share =
        options_.connections / options_.threads + (i < options_.connections % options_.threads ? 1 : 0);
    const Lane::Setup setup{.number = i,
                            .first_connection = first,
                            .connections = share,
                            .server_clock = i == 0 ? server_clock_ : std::nullopt};
    lanes_.push_back(std::make_unique<Lane>(setup, options_, protocol_, (*group_)[i], *this, loop_->mailbox()));
    first += share;
  }
  return std::nullopt;
}

template <class Command>
void LoadRun::tell_all(Command command) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    (*group_)[i].post([lane = lanes_[i].get(), command] { command(*lane); });
  }
}

void LoadRun::cut_all(CutKind kind) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    auto fresh = std::make_unique<Recording>(!options_.closed_loop());
    (*group_)[i].post(
        [lane = lanes_[i].get(), kind, fresh = std::move(fresh)]() mutable { lane->cut(kind, std::move(fresh)); });
  }
}

void LoadRun::on_settled(size_t) {
  if (phase_ == Phase::kConnecting && ++settled_ == lanes_.size()) warm();
}

void LoadRun::warm() {
  loop_->cancel(timer_);
  phase_ = Phase::kWarming;
  if (deserted_ == lanes_.size()) return measure();
  tell_all([start = loop_->engine().now()](Lane& lane) { lane.begin(start); });
  timer_ = loop_->after(options_.warm_up, [this] { measure(); });
}

void LoadRun::measure() {
  phase_ = Phase::kMeasuring;
  cut_all(CutKind::kWarmUp);
  if (options_.server_pid) server_look_ = look_at_process(*options_.server_pid);
  if (deserted_ == lanes_.size()) drain();
}

// Every lane has begun to count: no window will be shorter than was asked for.
void LoadRun::start_clock() {
  if (phase_ != Phase::kMeasuring) return;
  measured_from_ = shown_at_ = loop_->engine().now();
  timer_ = loop_->after(options_.duration, [this] { drain(); });
  if (on_progress_) progress_timer_ = loop_->every(kProgressEvery, [this] { look(); });
}

void LoadRun::look() {
  if (looks_left_ > 0) return;
  looks_left_ = lanes_.size();
  progress_ = {};
  cut_all(CutKind::kInterval);
}

void LoadRun::drain() {
  if (phase_ != Phase::kMeasuring) return;
  phase_ = Phase::kDraining;
  loop_->cancel(timer_);
  loop_->cancel(progress_timer_);
  cut_all(CutKind::kLast);
  if (!options_.server_pid) return;
  const std::optional<ProcessLook> now = look_at_process(*options_.server_pid);
  if (!now || !server_look_) return;
  outcome_.server->rss_bytes = now->rss_bytes;
  outcome_.server->voluntary_switches = now->voluntary_switches - server_look_->voluntary_switches;
  outcome_.server->involuntary_switches = now->involuntary_switches - server_look_->involuntary_switches;
}

void LoadRun::finish() {
  phase_ = Phase::kDone;
  loop_->stop();
}

void LoadRun::interrupt() {
  switch (phase_) {
    case Phase::kConnecting:
    case Phase::kWarming: trouble_ = "interrupted before anything was measured"; return finish();
    case Phase::kMeasuring: outcome_.interrupted = true; return drain();
    case Phase::kDraining:
      if (last_cuts_ == lanes_.size()) finish();
      return;
    case Phase::kDone: return;
  }
}

void LoadRun::on_cut(size_t, Cut cut) {
  outcome_.lifetime.add(cut.recording->counts);
  take_server_cpu(cut);
  if (cut.kind == CutKind::kWarmUp) {
    if (++first_cuts_ == lanes_.size()) start_clock();
    return;
  }
  outcome_.total.add(*cut.recording);
  outcome_.unsent += cut.unsent;
  outcome_.unanswered += cut.unanswered;
  if (cut.kind == CutKind::kInterval) return show_progress(cut);
  // All that counts is here: now somebody may become impatient.
  if (++last_cuts_ == lanes_.size()) timer_ = loop_->after(options_.grace, [this] { finish(); });
}

// Of the lane that reads the server's clock, from its first cut to its last.
void LoadRun::take_server_cpu(const Cut& cut) {
  if (!cut.server_cpu) return;
  if (cut.kind == CutKind::kWarmUp) server_cpu_ = cut.server_cpu;
  if (cut.kind == CutKind::kLast && server_cpu_) outcome_.server->cpu = *cut.server_cpu - *server_cpu_;
}

void LoadRun::show_progress(const Cut& cut) {
  progress_.in_flight += cut.in_flight;
  progress_.open += cut.open;
  progress_.failures += cut.failures;
  if (--looks_left_ > 0 || phase_ != Phase::kMeasuring) return;
  const TimePoint now = loop_->engine().now();
  const uint64_t messages = outcome_.total.counts.messages;
  progress_.elapsed = now - measured_from_;
  progress_.messages_per_s =
      static_cast<double>(messages - messages_shown_) * 1e9 / static_cast<double>((now - shown_at_).count());
  progress_.p50_ns = outcome_.total.latency.value_at_percentile(50);
  progress_.p99_ns = outcome_.total.latency.value_at_percentile(99);
  messages_shown_ = messages;
  shown_at_ = now;
  on_progress_(progress_);
}

void LoadRun::on_quiet(size_t) {
  if (++quiet_ < lanes_.size()) return;
  outcome_.came_back = true;
  finish();
}

// A run without connections has nothing left to measure.
void LoadRun::on_deserted(size_t) {
  if (++deserted_ < lanes_.size()) return;
  if (phase_ == Phase::kWarming) {
    loop_->cancel(timer_);
    measure();
  } else if (phase_ == Phase::kMeasuring) {
    drain();
  }
}

// The loops have ended: the lanes are this thread's.
void LoadRun::collect() {
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    outcome_.lifetime.add(lane->recording().counts);
    outcome_.failures.add(lane->failures());
    outcome_.opened += lane->opened();
    outcome_.served += lane->served();
  }
  outcome_.window = outcome_.total.span / static_cast<int64_t>(lanes_.size());
}

}  // namespace

std::expected<Outcome, std::string> run_load(const LoadOptions& options, const Protocol& protocol,
                                             OnProgress on_progress) {
  const std::string trouble = options_trouble(options);
  PEAL_ASSERT(trouble.empty(), "{}", trouble);
  std::expected<Outcome, std::string> outcome = LoadRun(options, protocol, std::move(on_progress)).run();
  if (!outcome || outcome->opened > 0) return outcome;
  const std::string why =
      outcome->failures.empty() ? "no reason is known" : outcome->failures.kinds.begin()->second.first;
  return std::unexpected(fmt::format("cannot connect to {}: {}", options.target_text, why));
}

}  // namespace peal::load
