// SPDX-License-Identifier: BSD-3-Clause
#include <load/lane.h>

#include <utility>

#include <fmt/format.h>

#include <load/server_probe.h>
#include <peal/base/assert.h>

namespace peal::load {
namespace {

// More would overrun the queue of a listener with a small backlog, and each loss there costs a second.
constexpr size_t kConnectsInFlight = 64;

std::string connect_kind(std::error_code error) {
  if (error == std::errc::connection_refused) return "connect_refused";
  if (error == std::errc::timed_out) return "connect_timeout";
  return "connect_failed";
}

}  // namespace

Lane::Lane(const Setup& setup, const LoadOptions& options, const Protocol& protocol, Loop& loop, LaneReports& reports,
           std::shared_ptr<Mailbox> run)
    : setup_(setup),
      options_(options),
      engine_(loop.engine()),
      reports_(reports),
      run_(std::move(run)),
      recording_(std::make_unique<Recording>(!options.closed_loop())),
      circulates_(options.closed_loop()) {
  sessions_.reserve(setup.connections);
  for (size_t i = 0; i < setup.connections; ++i) sessions_.push_back(protocol.make_session(*this));
  if (!options.closed_loop()) pacer_ = std::make_unique<Pacer>(*this, loop, setup.connections);
}

Lane::~Lane() = default;

template <class Report>
void Lane::report(Report report) {
  run_->post([this, report = std::move(report)]() mutable { report(reports_, setup_.number); });
}

void Lane::connect_all() { connect_more(); }

void Lane::connect_more() {
  while (!gave_up_ && connecting_ < kConnectsInFlight && next_to_connect_ < sessions_.size()) {
    ConnectOptions connect;
    if (!options_.sources.empty()) {
      connect.source = options_.sources[(setup_.first_connection + next_to_connect_) % options_.sources.size()];
    }
    ++connecting_;
    sessions_[next_to_connect_++]->connect(options_.target, connect);
  }
  check_settled();
}

void Lane::give_up_connecting() {
  if (settled_) return;
  gave_up_ = true;
  const std::string sentence = "a connection was not open when --connect-timeout ended";
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->open() || session->closed()) continue;
    session->abandon();
    failures_.add("connect_timeout", sentence);
  }
  connecting_ = 0;
  check_settled();
}

void Lane::connected(Session& session) {
  --connecting_;
  ++opened_;
  ++open_;
  if (circulates_) {
    session.lap.due = session.lap.sent = engine_.now();
    start(session);
  } else if (pacer_) {
    pacer_->add_idle(session);
  }
  connect_more();
}

void Lane::connect_failed(std::error_code error) {
  --connecting_;
  failures_.add(connect_kind(error), error.message());
  connect_more();
}

void Lane::check_settled() {
  if (settled_ || connecting_ > 0 || (!gave_up_ && next_to_connect_ < sessions_.size())) return;
  settled_ = true;
  report([](LaneReports& reports, size_t lane) { reports.on_settled(lane); });
  if (open_ == 0) tell_deserted();
}

void Lane::tell_deserted() {
  report([](LaneReports& reports, size_t lane) { reports.on_deserted(lane); });
}

void Lane::begin(TimePoint start) {
  if (!pacer_) return;
  const Result<void> begun = pacer_->begin(SendSchedule(start, options_.rate, setup_.number, options_.threads));
  if (!begun) failures_.add("timer", fmt::format("a thread got no timer: {}", begun.error().message()));
}

void Lane::cut(CutKind kind, std::unique_ptr<Recording> fresh) {
  Cut cut{.kind = kind, .recording = std::exchange(recording_, std::move(fresh))};
  const TimePoint now = engine_.now();
  const Duration cpu = cpu_time(CLOCK_THREAD_CPUTIME_ID).value_or(Duration::zero());
  if (setup_.server_clock) cut.server_cpu = cpu_time(*setup_.server_clock);
  cut.recording->span = now - span_begin_;
  cut.recording->cpu = cpu - cpu_begin_;
  span_begin_ = now;
  cpu_begin_ = cpu;
  cut.in_flight = busy_;
  cut.open = open_;
  cut.failures = failures_.count();
  const bool last = kind == CutKind::kLast;
  if (last && pacer_) {
    cut.unsent = pacer_->stop(now);
    cut.unanswered = busy_;
  }
  report([cut = std::move(cut)](LaneReports& reports, size_t lane) mutable { reports.on_cut(lane, std::move(cut)); });
  if (!last) return;
  ended_ = true;
  circulates_ = false;
  if (busy_ == 0) report([](LaneReports& reports, size_t lane) { reports.on_quiet(lane); });
}

// The clock is read for every message, 25 ns of its 2 us: one reading a turn would smear latencies over the length of a
// turn, which is 1 ms with a thousand connections.
void Lane::message_done(Session& session) {
  const TimePoint now = engine_.now();
  Recording& recording = *recording_;
  ++recording.counts.messages;
  recording.latency.record((now - session.lap.due).count());
  if (!session.served) [[unlikely]] {
    session.served = true;
    ++served_;
  }
  if (circulates_) {
    session.lap.due = now;
    return;
  }
  if (pacer_) recording.service->record((now - session.lap.sent).count());
  session.lap.ended = now;
}

void Lane::idle(Session& session) {
  PEAL_ASSERT(busy_ > 0, "a session became idle where none was busy, of {}", open_);
  --busy_;
  if (ended_) {
    if (busy_ == 0) report([](LaneReports& reports, size_t lane) { reports.on_quiet(lane); });
  } else if (pacer_) {
    pacer_->add_idle(session);
  }
}

void Lane::session_failed(bool was_idle, const std::string& kind, const std::string& sentence) {
  --open_;
  // Once all is measured an idle connection may go as it likes.
  if (!ended_ || !was_idle) failures_.add(kind, sentence);
  if (!was_idle) {
    --busy_;
    if (ended_ && busy_ == 0) report([](LaneReports& reports, size_t lane) { reports.on_quiet(lane); });
  }
  if (open_ == 0 && settled_) tell_deserted();
}

}  // namespace peal::load
