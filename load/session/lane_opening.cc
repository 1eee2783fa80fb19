// SPDX-License-Identifier: BSD-3-Clause
// The functions of Lane that open connections, and open them again after they have ended.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <load/session/lane.h>

namespace peal::load {
namespace {

// The highest number of connections that one thread opens at the same time. With a higher number, the server's listen
// queue could overflow. The server's kernel would then drop SYNs, and the client's kernel would repeat them only after
// a second.
constexpr size_t kConnectsInFlight = 64;
// The highest number of new connections that a session opens in succession after failures. If the last of them fails,
// too, the session is given up. The session waits 20, 40, 80, 160 and 320 ms before it opens them, in total 0.62 s.
// When a message is answered, the succession ends. A server may close an idle connection (RFC 9112 9.5). So if the
// server closes a connection before a message was sent on it, the session is not given up because of this close.
constexpr unsigned kMostUnansweredInARow = 5;
constexpr Duration kFirstBackOff = std::chrono::milliseconds(20);

std::string failure_kind(Session::State at, std::error_code error) {
  if (at == Session::State::kShaking) {
    return error == std::errc::timed_out ? "handshake_timeout" : "handshake_failed";
  }
  if (error == std::errc::connection_refused) return "connect_refused";
  if (error == std::errc::timed_out) return "connect_timeout";
  return "connect_failed";
}

}  // namespace

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

// Returns true if the thread may begin its next attempt to connect now. Without --connect-rate, the result is always
// true. With --connect-rate, `rate` is this thread's share of that rate. The attempts of the thread are numbered from
// 0. Attempt number k must not begin earlier than k / `rate` seconds after the call of connect_all(). If the time of
// the next attempt has not come yet, returns false and sets a timer that begins the attempt later.
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

// Called when the time limit --connect-timeout has passed. Gives up every session whose first attempt to connect has
// neither succeeded nor failed yet. Also gives up every session whose first attempt has not begun. All other sessions
// had their first attempt, so they are not given up, even if they are opening a later connection now.
void Lane::give_up_connecting() {
  if (settled_) return;
  std::erase_if(to_connect_, [](const Session* session) { return !session->notes.tried; });
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->notes.tried) continue;
    const bool shakes = session->state() == Session::State::kShaking;
    if (session->opening()) --connecting_;
    session->abandon();
    if (options_.expect_queueing && !session->notes.silent) {
      queued_.add({.connections = 1, .unopened = 1});
    } else if (shakes) {
      ++handshakes_failed_;
      add_failure("handshake_timeout", "a handshake was not done when --connect-timeout ended", 1);
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

void Lane::connected(Session& session, const OpeningTimes& took, TimePoint now) {
  --connecting_;
  first_try_over(session);
  ++recording_->counts.connects;
  recording_->connect.record(took.connect.count());
  if (recording_->handshake) note_handshake(session, took.handshake);
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

void Lane::note_handshake(const Session& session, Duration took) {
  recording_->handshake->record(took.count());
  if (!agreed_.empty()) return;
  const Result<LayerFacts> facts = session.layer_facts();
  if (facts && !facts->protocol.empty()) agreed_ = fmt::format("{}, {}", facts->protocol, facts->cipher);
}

void Lane::opening_failed(Session& session, Session::State at, size_t lost, std::error_code error) {
  --connecting_;
  const bool shook = at == Session::State::kShaking;
  if (shook) ++handshakes_failed_;
  add_failure(failure_kind(at, error), shook ? "the handshake failed: " + error.message() : error.message(),
              std::max<size_t>(lost, 1));
  const bool first = !session.notes.tried;
  first_try_over(session);
  leave_flight(lost);
  // If the first attempt of a session to connect has failed, the session is given up. A second attempt would only delay
  // the report of the failure.
  if (first) {
    give_up(session);
  } else {
    reopen(session, Ended::kInFailure);
  }
  connect_more();
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

// Opens a new connection for a session whose previous connection has ended. `how` says how the previous connection has
// ended:
// - kServed: an answer came on the connection, and the connection ended without a failure. The new connection is opened
//   without a wait.
// - kUnasked: the server closed the connection before a message was sent on it. The new connection is opened after a
//   wait.
// - kInFailure: the connection ended in any other way. The new connection is opened after a wait.
// The wait is 20 ms. After each further end of the kinds kUnasked and kInFailure, the wait doubles, up to 320 ms. After
// an answer, the wait is 20 ms again.
//
// Gives the session up instead in two cases. The first case is that the measurement has ended. The second case is that
// `how` is kInFailure and kMostUnansweredInARow new connections in succession have not brought an answer.
void Lane::reopen(Session& session, Ended how) {
  if (ended_) return give_up(session);
  unsigned& row = session.notes.unanswered_row;
  if (how == Ended::kServed) {
    row = 0;
    return queue(session);
  }
  if (session.notes.got_answer) row = 0;
  ++row;
  if (how == Ended::kUnasked) row = std::min(row, kMostUnansweredInARow);
  if (row > kMostUnansweredInARow) return give_up(session);
  const Duration wait = kFirstBackOff * (1 << (row - 1));
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

}  // namespace peal::load
