// SPDX-License-Identifier: BSD-3-Clause
// HttpShard: what an HttpServer has on one loop, and only that loop's thread uses:
// - free carriers, which are reused for later requests;
// - the text of the Date field, and heads composed from it;
// - the deadlines of the connections;
// - the output of the callback in progress;
// - the lines of the access log, and the counters.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/log_limiter.h>
#include <peal/base/memory/buffer.h>
#include <peal/http/server/http_exchange.h>
#include <peal/http/server/http_stats.h>
#include <peal/http/server/parts/http_handler_task.h>
#include <peal/http/server/parts/http_waits.h>
#include <peal/http/server/route_stats.h>
#include <peal/loop/loop.h>

namespace peal::detail {

class HttpCarrier;
class HttpCore;
class Http1Carrier;
class Http1Session;
class HttpServerSession;
class RouteMeter;
class RouteTree;

// Returns a field's value as it may be sent. If the value has control characters that no field may have, they are
// replaced by spaces in a copy, which is stored in `storage` (RFC 9110 5.5).
std::string_view sendable_value(std::string_view value, std::string& storage);

class HttpShard {
 public:
  HttpShard(HttpCore& core, Loop& loop);
  ~HttpShard();
  HttpShard(const HttpShard&) = delete;
  HttpShard& operator=(const HttpShard&) = delete;

  HttpCore& core() const { return core_; }
  Loop& loop() const { return *loop_; }
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

  RouteTree& routes() const { return *routes_; }

  // The counters of this loop. While meter() is not null, the meter has `answers` and `response_body_bytes`.
  HttpStats& stats() { return stats_; }

  // Returns all counters, together with the memory that free carriers hold now.
  HttpStats snapshot() const;

  // Begins to measure routes. Does nothing if the shard measures already, or has ended.
  void measure_routes();

  // Returns what was measured. Empty if measure_routes() was not called.
  RouteFigures route_figures();

  // Returns the meter that is told of each complete answer. Null if neither routes are measured nor a log is written.
  RouteMeter* meter() const { return meter_.get(); }

  // Notes a complete answer that RouteMeter::note() does not take, in the meter and in the access log.
  void note_answer(HttpExchange& exchange, int status);

  // Notes an exchange that ends before its answer is complete. `connected`: false if the server is being destroyed.
  void note_abandoned(const HttpExchange& exchange, bool connected);

  // acquire() returns a carrier for the next request of the session. release() takes a carrier back when nothing uses
  // it any more.
  Http1Carrier& acquire(Http1Session& session);
  void release(Http1Carrier& carrier);

  uint64_t next_serial() { return ++last_serial_; }

  // Returns the context for a connection that opens. The connection owns the context.
  std::unique_ptr<HttpServerSession> make_session(Connection& connection);

  // ok_lines() returns the first lines of an answer 200: the status line, Date, Server and Strict-Transport-Security.
  // common_lines() returns these lines without the status line, for answers with another status. Both views are valid
  // until the next second begins.
  std::string_view ok_lines() {
    if (loop_->now() >= date_until_) [[unlikely]]
      make_date();
    return ok_lines_;
  }
  std::string_view common_lines() { return ok_lines().substr(status_bytes_); }

  // Returns the beginning of the head of an answer 200: ok_lines(), Content-Type unless the type is empty, and
  // "Content-Length: ". The caller must append the length. Consecutive answers with the same content type reuse the
  // text.
  std::string_view ok_head(std::string_view content_type) {
    if (loop_->now() >= date_until_ || ok_head_.empty() || content_type != ok_type_) [[unlikely]]
      make_ok_head(content_type);
    return ok_head_;
  }

  // Ends the waiter's current deadline and starts its deadline for `what`.
  void wait(HttpWaiter& waiter, HttpWait what);

  // Ends the current deadline of the waiter.
  void leave(HttpWaiter& waiter) { deadlines_.leave(waiter); }

  // Returns the time that has passed since the waiter's current deadline was started.
  Duration waited(const HttpWaiter& waiter) const { return deadlines_.waited(waiter, loop_->now()); }

  // begin_batch() makes the shard gather the answers of a session until end_batch(). The session sends what was
  // gathered before it calls end_batch(), and earlier if that has more than 64 KiB.
  void begin_batch(HttpServerSession& session) { batching_ = &session; }
  void end_batch() { batching_ = nullptr; }

  bool batches(const HttpServerSession& session) const { return batching_ == &session; }

  // Returns the buffer in which the session composes its output. See Http1Session::put_done().
  Buffer& output(const HttpServerSession& session) { return batches(session) ? batch_ : loose_; }

  // True if the session that runs now has more input, so that more output can be expected.
  bool expects_more = false;

  // Calls `on_drain` once when the server drains, or at once if the server already drains. Does not call it if the
  // exchange has ended before. Meant for answers that would otherwise never end.
  static void when_drained(HttpExchange& exchange, HttpCallback on_drain);

  // Calls the callback that when_drained() has stored for the exchange, if any.
  static void report_drain(HttpCarrier& carrier);

  // Adds a line to the access log for an exchange that ends with the status `status`.
  void log(HttpExchange& exchange, int status);

  // Counts and logs a client that speaks TLS to a server without a layer.
  void note_tls_hello(const Connection& connection);

  // Return the limiters of the log lines about handlers that throw, and about coroutines that end without an answer.
  LogLimiter& throws_log() { return throws_log_; }
  LogLimiter& unanswered_log() { return unanswered_log_; }

  // Returns the list of all coroutines that answer exchanges now.
  WaitList<HttpHandlerTask>& runs() { return runs_; }

  // Ends the shard. Called when the server is destroyed. Cancels the coroutines, which end at once if they can, and
  // writes the lines of the access log.
  void retire();

 private:
  // Adds the memory of a free carrier to the memory budget. Returns false if the texts of the carrier are too large to
  // be kept.
  static bool charge(Http1Carrier& carrier);

  void make_date();
  void make_ok_head(std::string_view content_type);

  // Sets the timer of the deadlines to `due`.
  void arm(TimePoint due);

  // Calls timed_out() of all waiters whose deadline has passed, and sets the timer for the next deadline.
  void end_overdue_waits();

  void flush_log();

  // Returns a function that calls `function` unless the server's HttpCore has been destroyed.
  template <class Function>
  auto while_alive(Function function);

  // Counts, measures and logs an answer that may be slow, or that the meter cannot note for another reason.
  [[gnu::cold]] void note_slowly(HttpExchange& exchange, int status, size_t digit);

  // If the exchange may be one of the slowest, the meter lists it when the turn ends.
  void list_if_slow(const HttpExchange& exchange, int status);
  void stop_measuring();

  HttpCore& core_;
  RouteTree* const routes_;
  Loop* const loop_;
  std::shared_ptr<RouteMeter> meter_;
  bool measures_ = false;  // true if the meter measures routes; false if it is only there for the access log
  bool retired_ = false;
  const std::shared_ptr<Mailbox> mailbox_;
  HttpStats stats_;
  HttpWaits deadlines_;
  TimerId timer_;
  TimePoint timer_due_ = kNever;
  TimePoint date_until_{};
  std::string ok_lines_;
  size_t status_bytes_ = 0;  // length of the status line in ok_lines_
  std::string ok_head_;
  std::string ok_type_;   // content type in ok_head_
  std::string log_date_;  // the date in the format of the access log
  int64_t log_second_ = 0;
  Buffer batch_;                                 // output of the session that gathers answers
  Buffer loose_;                                 // output of all other sessions
  const HttpServerSession* batching_ = nullptr;  // session that gathers answers, or null
  std::vector<Http1Carrier*> carriers_;          // free carriers
  uint64_t last_serial_ = 0;
  TimerId log_timer_;
  WaitList<HttpHandlerTask> runs_;
  LogLimiter tls_hello_log_{std::chrono::seconds(1)}, throws_log_{std::chrono::seconds(1)},
      unanswered_log_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
