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

RecordingParts recording_parts(const LoadOptions& options, const Protocol& protocol) {
  return {.open_loop = !options.closed_loop(),
          .first_byte = protocol.has_first_byte(),
          .handshake = options.layer != nullptr};
}

size_t share_of(size_t all, size_t lane, size_t lanes) { return all / lanes + (lane < all % lanes ? 1 : 0); }

Lane::Lane(const Setup& setup, const LoadOptions& options, const Protocol& protocol, Loop& loop, LaneReports& reports,
           std::shared_ptr<Mailbox> run)
    : setup_(setup),
      options_(options),
      loop_(loop),
      engine_(loop.engine()),
      port_(&engine_),
      reports_(reports),
      run_(std::move(run)),
      parts_(recording_parts(options, protocol)),
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

void Lane::session_failed(Session& session, bool was_open, size_t lost, const std::string& kind,
                          const std::string& sentence) {
  // Before the end of the measurement, each broken connection is a failure. After the end, a broken connection is a
  // failure only if messages were in flight on it, because the run needs the connection only for their answers.
  if (!ended_ || lost > 0) add_failure(kind, sentence, std::max<size_t>(lost, 1));
  lost_connection(session, was_open);
  reopen(session, Ended::kInFailure);
  leave_flight(lost);
}

void Lane::server_left(Session& session, bool was_idle) {
  ++recording_->counts.retired;
  if (was_idle) ++recording_->counts.idle_closes;
  lost_connection(session, true);
  reopen(session, session.notes.got_answer ? Ended::kServed : was_idle ? Ended::kUnasked : Ended::kInFailure);
}

void Lane::retire(Session& session) {
  ++recording_->counts.retired;
  session.abandon(options_.reset_close ? CloseHow::kReset : CloseHow::kNormal);
  lost_connection(session, true);
  reopen(session, Ended::kServed);
}

void Lane::begin(TimePoint start) {
  if (pacer_) {
    const Result<void> begun =
        pacer_->begin(ArrivalCursor(*options_.arrivals, start, options_.seed, setup_.number, options_.threads));
    if (!begun) add_failure("timer", fmt::format("cannot create a thread's timer: {}", begun.error().message()), 1);
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
  // The measurement has ended, so no connection is opened any more. Each session without an open connection is given
  // up. Its messages in flight were sent on its previous connection, but not answered. They would have been sent again
  // on its next connection. They are now dropped.
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->state() == Session::State::kOpen) continue;
    if (session->opening()) ++recording_->counts.under_way;
    in_flight_ -= session->abandon();
  }
  to_connect_.clear();
  if (in_flight_ == 0) report([](LaneReports& reports, size_t lane) { reports.on_quiet(lane); });
}

void Lane::play(TimePoint start) {
  if (circulates_) return;
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

// Ends the current slice of the run if pause() was called and the lane has become idle. The lane is idle if
// - no message is in flight,
// - each session that was not given up has an open connection, and
// - in an open loop, all messages that were scheduled before pause() have been sent, or were dropped because of their
//   deadline. This condition does not apply if all sessions were given up.
// The check runs as a task of the loop, after the current callback. The reason: a session that has just reported its
// last answer may still close its connection in that callback. The lane is not idle again until the next connection of
// this session is open.
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

// Records the times of an answered message. `now` is the time at which the answer was received. The caller reads the
// clock each time that it receives bytes. Reading the clock takes 25 ns. Reading the clock only once per loop iteration
// would be cheaper, but latencies could then be wrong by 2 ms. The reason: one iteration may handle a message of each
// of a thousand connections, and handling a message takes 2 us.
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
  PEAL_ASSERT(in_flight_ >= messages, "{} messages came back, but only {} were in flight", messages, in_flight_);
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

// Enforces the option --timeout, which is the time limit for opening a connection and for answering a message. Ends
// each attempt to open a connection that has exceeded the limit. Closes each connection whose oldest message was not
// answered within the limit. Each message in flight on a closed connection counts as a failure. Messages that were
// kept for a connection that could not be opened count, too (Session::leave()). If no message was kept, the attempt
// counts as one failure.
void Lane::sweep() {
  const TimePoint late = engine_.now() - *options_.timeout;
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->opening() && session->since() < late) {
      const Session::State at = session->state();
      const size_t lost = session->abandon();
      opening_failed(*session, at, lost, std::make_error_code(std::errc::timed_out));
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
  // fwrite() is used because fmt::print() throws an exception if the line cannot be written, for example because the
  // disk is full. A lost log line must not end the run.
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace peal::load
