// SPDX-License-Identifier: BSD-3-Clause
// HttpShard: what an HttpServer has on one loop: the exchanges and sessions to be used again, the date, the deadlines,
// the answers of the callback under way, the lines of the access log, the counters. It belongs to that loop.
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
#include <peal/loop/loop.h>

namespace peal::detail {

class HttpCarrier;
class HttpCore;
class Http1Carrier;
class Http1Session;
class HttpServerSession;

// The value of a field as it may be sent: with spaces for controls (RFC 9110 5.5), in `storage`, where it has any that
// no field may hold.
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
  HttpStats& stats() { return stats_; }
  // With what is there now.
  HttpStats snapshot() const;

  // What carries the session's next request; released when nobody uses it any more.
  Http1Carrier& acquire(Http1Session& session);
  void release(Http1Carrier& carrier);
  uint64_t next_serial() { return ++last_serial_; }
  // Returns the context for a connection that opens; the connection owns it.
  std::unique_ptr<HttpServerSession> make_session(Connection& connection);

  // The lines of a head up to Date and Server, of an answer 200; the same without the status line.
  std::string_view ok_lines() {
    if (loop_->now() >= date_until_) [[unlikely]]
      make_date();
    return ok_lines_;
  }
  std::string_view common_lines() { return ok_lines().substr(status_bytes_); }
  // The same with Content-Type, unless that is empty, and with Content-Length up to its value. Composed once for
  // answers in a row that are of one type.
  std::string_view ok_head(std::string_view content_type) {
    if (loop_->now() >= date_until_ || ok_head_.empty() || content_type != ok_type_) [[unlikely]]
      make_ok_head(content_type);
    return ok_head_;
  }

  // It waits for `what` from now on.
  void wait(HttpWaiter& waiter, HttpWait what);
  void leave(HttpWaiter& waiter) { deadlines_.leave(waiter); }
  // How long it has waited for that already.
  Duration waited(const HttpWaiter& waiter) const { return deadlines_.waited(waiter, loop_->now()); }

  // Between the two the session's answers are gathered, to leave together.
  void begin_batch(HttpServerSession& session) { batching_ = &session; }
  void end_batch() { batching_ = nullptr; }
  bool batches(const HttpServerSession& session) const { return batching_ == &session; }
  // Where the session's output is composed; see Http1Session::put_done().
  Buffer& output(const HttpServerSession& session) { return batches(session) ? batch_ : loose_; }
  // There is more input, so more output is to be expected.
  bool expects_more = false;

  // Has `told` called, once, when the server drains while the exchange is answered; at once where it does already. For
  // answers that would never end.
  static void when_drained(HttpExchange& exchange, HttpCallback on_drain);
  static void report_drain(HttpCarrier& carrier);

  // A line of the access log for an exchange that ends, with this status.
  void log(const HttpExchange& exchange, int status);
  // The connection's first bytes were TLS, and there is no layer.
  void note_tls_hello(const Connection& connection);
  // For the lines about handlers that throw, and about coroutines that end without an answer.
  LogLimiter& throws_log() { return throws_log_; }
  LogLimiter& unanswered_log() { return unanswered_log_; }
  // Coroutines that run on.
  WaitList<HttpHandlerTask>& runs() { return runs_; }
  // The server is gone: coroutines are cancelled and end, if they can at once; the log's lines are written.
  void retire();

 private:
  static bool charge(Http1Carrier& carrier);
  void make_date();
  void make_ok_head(std::string_view content_type);
  void arm(TimePoint due);
  void end_overdue_waits();
  void flush_log();
  template <class Function>
  auto while_alive(Function function);

  HttpCore& core_;
  Loop* const loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  HttpStats stats_;
  HttpWaits deadlines_;
  TimerId timer_;
  TimePoint timer_due_ = kNever;
  TimePoint date_until_{};
  std::string ok_lines_;
  size_t status_bytes_ = 0;  // of its status line
  std::string ok_head_;
  std::string ok_type_;   // the content type in it
  std::string log_date_;  // as the access log has it
  int64_t log_second_ = 0;
  Buffer batch_;
  Buffer loose_;
  const HttpServerSession* batching_ = nullptr;
  std::vector<Http1Carrier*> carriers_;  // free ones, with their exchanges
  uint64_t last_serial_ = 0;
  TimerId log_timer_;
  WaitList<HttpHandlerTask> runs_;
  LogLimiter tls_hello_log_{std::chrono::seconds(1)}, throws_log_{std::chrono::seconds(1)},
      unanswered_log_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
