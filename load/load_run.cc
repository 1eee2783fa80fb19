// SPDX-License-Identifier: BSD-3-Clause
#include <load/load_run.h>

#include <csignal>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <load/server_probe.h>
#include <load/session/lane.h>
#include <peal/base/assert.h>
#include <peal/loop/loop_group.h>

namespace peal::load {
namespace {

class LoadRun final : public LaneReports {
 public:
  LoadRun(const LoadOptions& options, const Protocol& protocol, OnInterval on_interval);
  std::expected<Outcome, std::string> run();

 private:
  enum class Phase : uint8_t { kConnecting, kWaiting, kWarming, kMeasuring, kDraining, kDone };
  using Trouble = std::optional<std::string>;

  Trouble prepare();
  Trouble make_lanes();
  void wait_for_start();
  void warm();
  void measure();
  void start_clock();
  void look();
  void drain();
  void finish();
  void interrupt();
  void cut_all(CutKind kind);
  void collect();
  void take_handshakes(Lane& lane);
  template <class Command>
  void tell_all(Command command);

  void on_settled(size_t lane) override;
  void on_cut(size_t lane, Cut cut) override;
  void on_quiet(size_t lane) override;
  void on_out_of_connections(size_t lane) override;
  void take_server(const Cut& cut);
  void take_step(const Cut& cut);
  void end_step();

  const LoadOptions& options_;
  const Protocol& protocol_;
  const RecordingParts parts_;
  OnInterval on_interval_;
  Outcome outcome_;
  Trouble trouble_;
  Phase phase_ = Phase::kConnecting;
  TimerId timer_;  // the phase's end
  TimerId interval_timer_;
  size_t settled_ = 0;
  size_t out_of_connections_ = 0;
  size_t first_cuts_ = 0;
  size_t last_cuts_ = 0;
  size_t quiet_ = 0;
  size_t deaf_ = 0;
  uint64_t due_before_ = 0;      // the first instant
  uint64_t resumed_before_ = 0;  // sessions of the layer
  std::optional<ServerProbe> probe_;
  std::optional<ServerLook> server_before_;
  // The interval that is being collected: lanes that have not yet handed theirs over, and what the others did.
  size_t looks_left_ = 0;
  Interval step_;
  Histogram step_latency_{kLatencyRange};
  TimePoint measured_from_;
  // The lanes' loops end before the lanes, and both before the loop they report to.
  std::unique_ptr<Loop> loop_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<LoopGroup> group_;
};

LoadRun::LoadRun(const LoadOptions& options, const Protocol& protocol, OnInterval on_interval)
    : options_(options),
      protocol_(protocol),
      parts_(recording_parts(options, protocol)),
      on_interval_(std::move(on_interval)),
      outcome_(parts_) {
  outcome_.echoes = protocol.echoes();
  if (options.layer != nullptr) resumed_before_ = options.layer->stats().resumed;
}

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
    Result<ServerProbe> probe = ServerProbe::of(*options_.server_pid);
    if (!probe) return fmt::format("there is no process {} whose CPU could be read", *options_.server_pid);
    probe_ = std::move(*probe);
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
    const Lane::Setup setup{.number = i,
                            .first_connection = first,
                            .connections = share_of(options_.connections, i, options_.threads),
                            .idle_connections = share_of(options_.idle_connections, i, options_.threads),
                            .server = i == 0 && probe_ ? &*probe_ : nullptr};
    lanes_.push_back(std::make_unique<Lane>(setup, options_, protocol_, (*group_)[i], *this, loop_->mailbox()));
    first += setup.connections + setup.idle_connections;
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
    auto fresh = std::make_unique<Recording>(parts_);
    (*group_)[i].post(
        [lane = lanes_[i].get(), kind, fresh = std::move(fresh)]() mutable { lane->cut(kind, std::move(fresh)); });
  }
}

void LoadRun::on_settled(size_t) {
  if (phase_ == Phase::kConnecting && ++settled_ == lanes_.size()) wait_for_start();
}

// Nothing is due on the monotonic clock at a wall-clock instant, so the wait is computed once.
void LoadRun::wait_for_start() {
  loop_->cancel(timer_);
  phase_ = Phase::kWaiting;
  const auto left = options_.start_at ? *options_.start_at - std::chrono::system_clock::now() : Duration::zero();
  if (left <= Duration::zero()) return warm();
  timer_ = loop_->after(std::chrono::duration_cast<Duration>(left), [this] { warm(); });
}

void LoadRun::warm() {
  phase_ = Phase::kWarming;
  if (out_of_connections_ == lanes_.size()) return measure();
  tell_all([start = loop_->engine().now()](Lane& lane) { lane.begin(start); });
  timer_ = loop_->after(options_.warm_up, [this] { measure(); });
}

void LoadRun::measure() {
  phase_ = Phase::kMeasuring;
  outcome_.began = std::chrono::system_clock::now();
  cut_all(CutKind::kWarmUp);
  if (out_of_connections_ == lanes_.size()) drain();
}

// Every lane has begun to count: no window will be shorter than was asked for.
void LoadRun::start_clock() {
  if (phase_ != Phase::kMeasuring) return;
  measured_from_ = loop_->engine().now();
  timer_ = loop_->after(options_.duration, [this] { drain(); });
  interval_timer_ = loop_->every(options_.interval, [this] { look(); });
}

void LoadRun::look() {
  if (looks_left_ > 0) return;
  looks_left_ = lanes_.size();
  cut_all(CutKind::kInterval);
}

void LoadRun::drain() {
  if (phase_ != Phase::kMeasuring) return;
  phase_ = Phase::kDraining;
  loop_->cancel(timer_);
  loop_->cancel(interval_timer_);
  cut_all(CutKind::kLast);
}

// Every lane stops listening before the first closes a connection: a server that serves one at a time would turn to the
// next one then, and answer it after the end.
void LoadRun::finish() {
  if (std::exchange(phase_, Phase::kDone) == Phase::kDone) return;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    (*group_)[i].post([this, lane = lanes_[i].get(), run = loop_->mailbox()] {
      lane->give_up_waiting();
      run->post([this] {
        if (++deaf_ == lanes_.size()) loop_->stop();
      });
    });
  }
}

void LoadRun::interrupt() {
  switch (phase_) {
    case Phase::kConnecting:
    case Phase::kWaiting:
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
  outcome_.connect.add(cut.recording->connect);
  if (outcome_.handshakes) outcome_.handshakes->times.add(*cut.recording->handshake);
  take_server(cut);
  if (cut.kind == CutKind::kWarmUp) {
    due_before_ += cut.due;
    if (++first_cuts_ == lanes_.size()) start_clock();
    return;
  }
  outcome_.total.add(*cut.recording);
  take_step(cut);
  if (cut.kind == CutKind::kInterval) {
    if (--looks_left_ == 0) end_step();
    return;
  }
  outcome_.unsent += cut.unsent;
  outcome_.unanswered += cut.unanswered;
  outcome_.offered += static_cast<double>(cut.due);
  if (++last_cuts_ < lanes_.size()) return;
  outcome_.offered -= static_cast<double>(due_before_);
  end_step();
  // All that counts is here: now somebody may become impatient.
  if (phase_ == Phase::kDraining) timer_ = loop_->after(options_.grace, [this] { finish(); });
}

// From the first cut of the lane that looks at the server to its last.
void LoadRun::take_server(const Cut& cut) {
  if (!probe_ || !cut.server) return;
  if (cut.kind == CutKind::kWarmUp) server_before_ = cut.server;
  if (cut.kind != CutKind::kLast || !server_before_) return;
  const ServerLook& now = *cut.server;
  outcome_.server = ServerUse{.cpu = now.cpu - server_before_->cpu,
                              .rss_bytes = now.rss_bytes,
                              .voluntary_switches = now.voluntary_switches - server_before_->voluntary_switches,
                              .involuntary_switches = now.involuntary_switches - server_before_->involuntary_switches,
                              .processes = now.processes,
                              .forgets_children = now.forgets_children};
}

void LoadRun::take_step(const Cut& cut) {
  step_.counts.add(cut.recording->counts);
  step_.in_flight += cut.in_flight;
  step_.open += cut.open;
  step_.failures += cut.failures;
  step_latency_.add(cut.recording->latency);
}

// Every lane has handed over its part of the interval.
void LoadRun::end_step() {
  if (measured_from_ == TimePoint{}) return;
  step_.to = loop_->engine().now() - measured_from_;
  step_.take_percentiles(step_latency_);
  if (options_.interval_histograms) step_.latency = step_latency_;
  step_latency_.reset();
  outcome_.intervals.push_back(std::exchange(step_, {}));
  step_.from = outcome_.intervals.back().to;
  if (on_interval_ && last_cuts_ < lanes_.size()) on_interval_(outcome_.intervals.back(), outcome_);
}

void LoadRun::on_quiet(size_t) {
  if (++quiet_ < lanes_.size()) return;
  outcome_.came_back = true;
  finish();
}

// A run without connections has nothing left to measure.
void LoadRun::on_out_of_connections(size_t) {
  if (++out_of_connections_ < lanes_.size()) return;
  if (phase_ == Phase::kWarming || phase_ == Phase::kWaiting) {
    loop_->cancel(timer_);
    measure();
  } else if (phase_ == Phase::kMeasuring) {
    drain();
  }
}

void LoadRun::take_handshakes(Lane& lane) {
  Handshakes rest{.failed = lane.handshakes_failed(), .agreed = lane.agreed()};
  rest.times = *lane.recording().handshake;
  outcome_.handshakes->add(rest);
}

// The loops have ended: the lanes are this thread's.
void LoadRun::collect() {
  if (outcome_.handshakes) outcome_.handshakes->resumed = options_.layer->stats().resumed - resumed_before_;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    outcome_.lifetime.add(lane->recording().counts);
    outcome_.connect.add(lane->recording().connect);
    if (outcome_.handshakes) take_handshakes(*lane);
    outcome_.failures.add(lane->failures());
    outcome_.opened += lane->opened();
    outcome_.served += lane->served();
    outcome_.queued.add(lane->queued());
    outcome_.idle_open += lane->idle_open();
  }
  outcome_.window = outcome_.total.span / static_cast<int64_t>(lanes_.size());
  // Where nobody holds the server any more it is no turn that the others wait for.
  if (outcome_.served > 0 && outcome_.queued.messages > 0 && outcome_.queued.being_served == 0) {
    outcome_.failures.add("no_answer", "a message was not answered when the run ended, and nobody was being served",
                          outcome_.queued.messages);
    outcome_.queued = {};
  }
}

}  // namespace

std::expected<Outcome, std::string> run_load(const LoadOptions& options, const Protocol& protocol,
                                             OnInterval on_interval) {
  const std::string trouble = options_trouble(options);
  PEAL_ASSERT(trouble.empty(), "{}", trouble);
  std::expected<Outcome, std::string> outcome = LoadRun(options, protocol, std::move(on_interval)).run();
  if (!outcome || outcome->opened > 0) return outcome;
  const std::string why =
      outcome->failures.empty() ? "no reason is known" : outcome->failures.kinds.begin()->second.first;
  return std::unexpected(fmt::format("cannot connect to {}: {}", options.target_text, why));
}

}  // namespace peal::load
