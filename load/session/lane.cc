// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/lane.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include <peal/base/assert.h>

namespace peal::load {
namespace {

// More would overrun the queue of a listener with a small backlog, and each loss there costs a second.
constexpr size_t kConnectsInFlight = 64;
// A server that closes every connection at once, or is gone, is asked again this often, ever more slowly: 0.6 s in all.
constexpr unsigned kMostUnansweredInARow = 5;
constexpr Duration kFirstBackOff = std::chrono::milliseconds(20);

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
      loop_(loop),
      engine_(loop.engine()),
      port_(&engine_),
      reports_(reports),
      run_(std::move(run)),
      parts_{.open_loop = !options.closed_loop(), .first_byte = protocol.has_first_byte()},
      recording_(std::make_unique<Recording>(parts_)),
      circulates_(options.closed_loop() && !options.start_at && !setup.in_slices),
      untried_(setup.connections + setup.idle_connections),
      alive_(setup.connections),
      random_(options.seed * 1'000'003 + setup.number) {
  sessions_.reserve(untried_);
  for (size_t i = 0; i < untried_; ++i) {
    sessions_.push_back(protocol.make_session(*this));
    sessions_.back()->notes.silent = i >= setup.connections;
    sessions_.back()->notes.number = setup.first_connection + i;
  }
  if (parts_.open_loop) pacer_ = std::make_unique<Pacer>(*this, loop, setup.connections);
}

Lane::~Lane() = default;

template <class Report>
void Lane::report(Report report) {
  run_->post([this, report = std::move(report)]() mutable { report(reports_, setup_.number); });
}

void Lane::connect_all() {
  connect_begin_ = engine_.now();
  if (options_.layer != nullptr) {
    layer_port_ = options_.layer->over(engine_);
    port_ = layer_port_.get();
  }
  for (const std::unique_ptr<Session>& session : sessions_) to_connect_.push_back(session.get());
  if (options_.timeout) {
    loop_.every(std::max<Duration>(*options_.timeout / 8, std::chrono::milliseconds(10)), [this] { sweep(); });
  }
  connect_more();
}

void Lane::connect_more() {
  while (!to_connect_.empty() && connecting_ < kConnectsInFlight && may_connect()) {
    Session* next = to_connect_.front();
    to_connect_.pop_front();
    connect_one(*next);
  }
  check_settled();
}

// At a connect rate, attempt k is due k / rate after the first.
bool Lane::may_connect() {
  if (options_.connect_rate == 0) return true;
  const double rate = options_.connect_rate / static_cast<double>(options_.threads);
  const TimePoint due = connect_begin_ + Duration(std::llround(static_cast<double>(attempts_) * 1e9 / rate));
  const TimePoint now = engine_.now();
  if (due <= now) return true;
  if (connect_timer_) return false;
  connect_timer_ = true;
  loop_.after(due - now, [this] {
    connect_timer_ = false;
    connect_more();
  });
  return false;
}

void Lane::connect_one(Session& session) {
  ConnectOptions connect;
  if (!options_.sources.empty()) connect.source = options_.sources[session.notes.number % options_.sources.size()];
  const RequestRange& range = options_.requests_per_connection;
  uint64_t messages = UINT64_MAX;
  if (session.notes.silent) {
    messages = 0;
  } else if (!range.endless()) {
    messages = std::uniform_int_distribution<uint64_t>(range.least, range.most)(random_);
  }
  ++connecting_;
  ++attempts_;
  ++recording_->counts.attempts;
  session.connect(options_.target, connect, messages);
}

void Lane::queue(Session& session) {
  to_connect_.push_back(&session);
  connect_more();
}

// Of those that have opened before and are being opened again, nobody is given up.
void Lane::give_up_connecting() {
  if (settled_) return;
  std::erase_if(to_connect_, [](const Session* session) { return !session->notes.tried; });
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->notes.tried) continue;
    if (session->state() == Session::State::kConnecting) --connecting_;
    session->abandon();
    if (options_.expect_queueing && !session->notes.silent) {
      queued_.add({.connections = 1, .unopened = 1});
    } else {
      add_failure("connect_timeout", "a connection was not open when --connect-timeout ended", 1);
    }
    first_try_over(*session);
    give_up(*session);
  }
  connect_more();
}

void Lane::first_try_over(Session& session) {
  if (std::exchange(session.notes.tried, true)) return;
  --untried_;
}

void Lane::connected(Session& session, Duration took, TimePoint now) {
  --connecting_;
  first_try_over(session);
  ++recording_->counts.connects;
  recording_->connect.record(took.count());
  if (session.notes.silent) {
    ++idle_open_;
  } else {
    ++open_;
    if (!std::exchange(session.notes.opened, true)) ++opened_;
    has_room(session, now);
  }
  connect_more();
  look_whether_quiet();
}

void Lane::connect_failed(Session& session, size_t lost, std::error_code error) {
  --connecting_;
  add_failure(connect_kind(error), error.message(), std::max<size_t>(lost, 1));
  const bool first = !session.notes.tried;
  first_try_over(session);
  leave_flight(lost);
  // Who cannot be reached at the beginning is not asked again: the run says so at once.
  if (first) {
    give_up(session);
  } else {
    reopen(session, false);
  }
  connect_more();
}

void Lane::session_failed(Session& session, bool was_open, size_t lost, const std::string& kind,
                          const std::string& sentence) {
  // Once all is measured an idle connection may go as it likes.
  if (!ended_ || lost > 0) add_failure(kind, sentence, std::max<size_t>(lost, 1));
  lost_connection(session, was_open);
  reopen(session, false);
  leave_flight(lost);
}

void Lane::server_left(Session& session) {
  ++recording_->counts.retired;
  lost_connection(session, true);
  reopen(session, session.notes.got_answer);
}

void Lane::retire(Session& session) {
  ++recording_->counts.retired;
  session.abandon(options_.reset_close ? CloseHow::kReset : CloseHow::kNormal);
  lost_connection(session, true);
  reopen(session, true);
}

void Lane::lost_connection(Session& session, bool was_open) {
  if (!was_open) {
    --connecting_;
    first_try_over(session);
  } else if (session.notes.silent) {
    --idle_open_;
  } else {
    --open_;
  }
}

// At once after a connection that served, otherwise later and later.
void Lane::reopen(Session& session, bool at_once) {
  if (ended_) return give_up(session);
  if (at_once) {
    session.notes.unanswered_row = 0;
    return queue(session);
  }
  if (session.notes.got_answer) session.notes.unanswered_row = 0;
  if (++session.notes.unanswered_row > kMostUnansweredInARow) return give_up(session);
  const Duration wait = kFirstBackOff * (1 << (session.notes.unanswered_row - 1));
  loop_.after(wait, [this, again = &session] {
    if (!ended_) queue(*again);
  });
}

void Lane::give_up(Session& session) {
  if (!session.notes.silent) {
    --alive_;
    leave_flight(session.abandon());
  }
  check_out_of_connections();
  look_whether_quiet();
}

void Lane::check_settled() {
  if (settled_ || untried_ > 0) return;
  settled_ = true;
  report([](LaneReports& reports, size_t lane) { reports.on_settled(lane); });
  check_out_of_connections();
}

void Lane::check_out_of_connections() {
  if (out_of_connections_ || !settled_ || alive_ > 0) return;
  out_of_connections_ = true;
  report([](LaneReports& reports, size_t lane) { reports.on_out_of_connections(lane); });
}

void Lane::begin(TimePoint start) {
  if (pacer_) {
    const Result<void> begun =
        pacer_->begin(ArrivalCursor(*options_.arrivals, start, options_.seed, setup_.number, options_.threads));
    if (!begun) add_failure("timer", fmt::format("a thread got no timer: {}", begun.error().message()), 1);
    return;
  }
  if (circulates_) return;
  circulates_ = true;
  const TimePoint now = engine_.now();
  for (const std::unique_ptr<Session>& session : sessions_) has_room(*session, now);
}

void Lane::cut(CutKind kind, std::unique_ptr<Recording> fresh) {
  const bool last = kind == CutKind::kLast;
  Cut cut{.kind = kind, .recording = std::exchange(recording_, std::move(fresh))};
  const TimePoint now = engine_.now();
  const Duration cpu = cpu_time(CLOCK_THREAD_CPUTIME_ID).value_or(Duration::zero());
  cut.recording->span = now - span_begin_;
  cut.recording->cpu = cpu - cpu_begin_;
  span_begin_ = now;
  cpu_begin_ = cpu;
  if (setup_.server != nullptr && kind != CutKind::kInterval) {
    if (Result<ServerLook> look = setup_.server->look()) cut.server = *look;
  }
  cut.in_flight = in_flight_;
  cut.open = open_;
  const uint64_t failures = failures_.count();
  cut.failures = failures - std::exchange(failures_told_, failures);
  if (kind == CutKind::kSlice) {
    cut.due = slice_due_;
  } else if (pacer_) {
    cut.due = pacer_->due_by(now);
  }
  if (last) {
    cut.unanswered = in_flight_;
    if (pacer_) cut.unsent = pacer_->stop(now);
  }
  report([cut = std::move(cut)](LaneReports& reports, size_t lane) mutable { reports.on_cut(lane, std::move(cut)); });
  if (!last) return;
  ended_ = true;
  circulates_ = false;
  // What waits for a new connection is not waited for.
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->state() == Session::State::kOpen) continue;
    if (session->state() == Session::State::kConnecting) ++recording_->counts.under_way;
    in_flight_ -= session->abandon();
  }
  to_connect_.clear();
  if (in_flight_ == 0) report([](LaneReports& reports, size_t lane) { reports.on_quiet(lane); });
}

void Lane::play(TimePoint start) {
  span_begin_ = engine_.now();
  cpu_begin_ = cpu_time(CLOCK_THREAD_CPUTIME_ID).value_or(Duration::zero());
  begin(start);
}

void Lane::pause(std::unique_ptr<Recording> fresh) {
  circulates_ = false;
  if (pacer_) {
    const TimePoint now = engine_.now();
    slice_due_ = pacer_->due_by(now);
    pacer_->finish(now);
  }
  next_recording_ = std::move(fresh);
  look_whether_quiet();
}

// After this turn: a session whose last answer has come may be about to close, and to open anew.
void Lane::look_whether_quiet() {
  if (next_recording_ == nullptr || std::exchange(looks_soon_, true)) return;
  loop_.post([this] {
    looks_soon_ = false;
    if (next_recording_ == nullptr || in_flight_ > 0 || open_ < alive_) return;
    if (pacer_ && alive_ > 0 && !pacer_->has_sent_all()) return;
    cut(CutKind::kSlice, std::exchange(next_recording_, nullptr));
  });
}

void Lane::leave_all() {
  ended_ = true;
  circulates_ = false;
  to_connect_.clear();
  for (const std::unique_ptr<Session>& session : sessions_) in_flight_ -= session->abandon(CloseHow::kReset);
}

void Lane::give_up_waiting() {
  size_t unanswered = in_flight_;
  for (const std::unique_ptr<Session>& session : sessions_) {
    session->stop_listening();
    if (options_.expect_queueing) unanswered -= session->count_if_queued(queued_);
  }
  if (unanswered > 0) add_failure("no_answer", "a message was not answered when the run ended", unanswered);
}

// The clock is read for every chunk, 25 ns of a message's 2 us: one reading a turn would smear latencies over the
// length of a turn, which is 1 ms with a thousand connections.
void Lane::message_done(Session& session, const Stamp& stamp, TimePoint first_byte, TimePoint now) {
  Recording& recording = *recording_;
  ++recording.counts.messages;
  recording.latency.record((now - stamp.due).count());
  if (recording.first_byte) recording.first_byte->record((first_byte - stamp.sent).count());
  if (!session.notes.got_answer) [[unlikely]] {
    session.notes.got_answer = true;
    if (!std::exchange(session.notes.served, true)) ++served_;
  }
  if (pacer_) recording.service->record((now - stamp.sent).count());
}

void Lane::message_wrong(const std::string& kind, const std::string& sentence) {
  ++recording_->counts.wrong;
  add_failure(kind, sentence, 1);
}

void Lane::leave_flight(size_t messages) {
  PEAL_ASSERT(in_flight_ >= messages, "{} messages came back where {} were in flight", messages, in_flight_);
  if (messages == 0) return;
  in_flight_ -= messages;
  if (in_flight_ > 0) return;
  look_whether_quiet();
  if (ended_) report([](LaneReports& reports, size_t lane) { reports.on_quiet(lane); });
}

void Lane::has_room(Session& session, TimePoint now) {
  if (pacer_) {
    if (!ended_) pacer_->add(session);
  } else if (circulates_) {
    if (const size_t room = session.room(); room > 0) start(session, room, now, now);
  }
}

// Who has waited too long for an answer, or for the connection.
void Lane::sweep() {
  const TimePoint late = engine_.now() - *options_.timeout;
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->state() == Session::State::kConnecting && session->since() < late) {
      const size_t lost = session->abandon();
      connect_failed(*session, lost, std::make_error_code(std::errc::timed_out));
    } else if (session->open() && session->in_flight() > 0 && session->oldest().sent < late) {
      const size_t lost = session->abandon();
      session_failed(*session, true, lost, "timeout", "a message was not answered within --timeout");
    }
  }
}

void Lane::add_failure(const std::string& kind, const std::string& sentence, size_t count) {
  failures_.add(kind, sentence, count);
  if (!options_.debug) return;
  const std::string line = fmt::format("peal: failure {}: {}\n", kind, sentence);
  // A full disk is no reason to end: fmt::print would throw.
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace peal::load
