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
  TimerId timer_;  // ends the current phase
  TimerId interval_timer_;
  size_t settled_ = 0;
  size_t out_of_connections_ = 0;
  size_t first_cuts_ = 0;
  size_t last_cuts_ = 0;
  size_t quiet_ = 0;
  size_t deaf_ = 0;              // lanes (threads of the run) that have stopped receiving
  uint64_t due_before_ = 0;      // messages that the schedule wanted sent before the measurement
  uint64_t resumed_before_ = 0;  // sessions that the layer (TLS) had resumed before this run
  std::optional<ServerProbe> probe_;
  std::optional<ServerLook> server_before_;
  // The interval that is measured now. At its end, each thread hands over its results of this interval. `looks_left_`
  // is the number of threads that have not done this yet. `step_` and `step_latency_` are the sums of the results that
  // were handed over.
  size_t looks_left_ = 0;
  Interval step_;
  Histogram step_latency_{kLatencyRange};
  TimePoint measured_from_;
  // Do not change the order of these three members: the last one is destroyed first. `group_` must be destroyed before
  // `lanes_`, because its threads use the lanes. `loop_` must be destroyed last, because the lanes report to it.
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
  if (!ran) return std::unexpected(fmt::format("cannot run the generator's event loop: {}", ran.error().message()));
  if (trouble_) return std::unexpected(std::move(*trouble_));
  collect();
  return std::move(outcome_);
}

LoadRun::Trouble LoadRun::prepare() {
  if (options_.server_pid) {
    Result<ServerProbe> probe = ServerProbe::of(*options_.server_pid);
    if (!probe)
      return fmt::format("there is no process {}, or its CPU time cannot be read: check --server-pid",
                         *options_.server_pid);
    probe_ = std::move(*probe);
    outcome_.server.emplace();
  }
  Result<std::unique_ptr<Loop>> loop = Loop::make({.engine = "epoll"});
  if (!loop) return fmt::format("cannot create the generator's event loop: {}", loop.error().message());
  loop_ = std::move(*loop);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto done = loop_->on_signal(signal, [this] { interrupt(); });
    if (!done) return fmt::format("cannot handle SIGINT and SIGTERM: {}", done.error().message());
  }
  return std::nullopt;
}

LoadRun::Trouble LoadRun::make_lanes() {
  Result<std::unique_ptr<LoopGroup>> group =
      LoopGroup::start(options_.threads, {.engine = options_.engine, .spin = options_.spin}, "load");
  if (!group) return fmt::format("cannot start the generator's threads: {}", group.error().message());
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

// Begins the warm-up at the time LoadOptions::start_at, or immediately if this option is not set. `start_at` is a time
// of the wall clock, but the loop's timers use the monotonic clock. So the length of the wait is computed only once,
// here. Later changes of the wall clock have no effect.
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

// Called when all threads have begun to measure. Starts the timer that ends the measurement, and the timer that ends
// each interval. The timers start after the last thread, so each thread measures for at least the time
// LoadOptions::duration.
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

// Ends the run. First all threads stop receiving. The connections are closed only when the last thread has stopped.
// This order matters for a server that serves one connection at a time. When its current connection closes, the server
// answers the messages of the next connection. These answers come after the end of the run, so no thread may receive
// them.
void LoadRun::finish() {
  if (std::exchange(phase_, Phase::kDone) == Phase::kDone) return;
  loop_->cancel(timer_);
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
    case Phase::kWarming: trouble_ = std::string(kInterruptedEarly); return finish();
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
  // All threads have handed over their results. Some messages may still be in flight. The run waits for their answers,
  // but not longer than the time LoadOptions::grace.
  if (phase_ == Phase::kDraining) timer_ = loop_->after(options_.grace, [this] { finish(); });
}

// Computes the CPU time and the context switches of the server in the measurement. Only one thread of the run measures
// the server, at the beginning and at the end of the measurement. `cut.server` holds what this thread has measured.
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

// Called when all threads have handed over their results of an interval. Adds the interval to the outcome. Also reports
// it to the caller of run_load(), unless it is the last interval.
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

// Called once for each thread: all connections of the thread have ended, and it does not open new ones. When this is
// true of all threads, nothing is left to measure, so the measurement ends.
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

// Adds up the results of all threads. The loops of these threads have ended, so the calling thread may read the
// results.
void LoadRun::collect() {
  if (outcome_.handshakes) outcome_.handshakes->resumed = options_.layer->stats().resumed - resumed_before_;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    outcome_.lifetime.add(lane->recording().counts);
    outcome_.connect.add(lane->recording().connect);
    if (outcome_.handshakes) take_handshakes(*lane);
    outcome_.failures.add(lane->failures());
    for (size_t status = 0; status < lane->statuses().size(); ++status) {
      if (const uint64_t count = lane->statuses()[status]) outcome_.statuses[static_cast<int>(status)] += count;
    }
    outcome_.opened += lane->opened();
    outcome_.served += lane->served();
    outcome_.queued.add(lane->queued());
    outcome_.idle_open += lane->idle_open();
  }
  outcome_.window = outcome_.total.span / static_cast<int64_t>(lanes_.size());
  // With --expect-queueing, messages may wait in the server while the server serves another connection. Such waiting is
  // no failure. If the server has answered messages, but serves no connection at the end of the run, the server has
  // stopped answering. In that case, the waiting messages count as failures.
  if (outcome_.served > 0 && outcome_.queued.messages > 0 && outcome_.queued.being_served == 0) {
    outcome_.failures.add("no_answer",
                          "a message was not answered when the run ended, and the server was serving no connection",
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
      outcome->failures.empty() ? "the reason is not known" : outcome->failures.kinds.begin()->second.first;
  return std::unexpected(fmt::format("cannot connect to {}: {}", options.target_text, why));
}

}  // namespace peal::load
