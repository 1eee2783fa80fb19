// SPDX-License-Identifier: BSD-3-Clause
// HttpCarrier: the protocol's half of an exchange. HttpExchange, its base class, is the handler's half; the two are one
// object, and each half decides something of its own:
//
//   HttpExchange   what the answer is: status, fields, content, declared length; and who gets the request's body
//   HttpCarrier    what happens to the exchange: which handler is called, when body pieces reach it, when it ends
//   Http1Carrier   how the answer is written on the wire, and when; one such class for each version of HTTP
//
// The handler's calls of respond(), begin(), write() and end() reach the virtual functions below. The connection's
// session calls the other functions when something arrives: start(), body_arrived(), body_ended(), and so on.
//
// A carrier is reused for later requests, so that no request allocates one. A coroutine that still answers may keep a
// carrier alive after its connection was closed. Then no function of the carrier is called except give_back(). A
// carrier belongs to the loop of its HttpShard, and only that thread uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <peal/http/server/http_exchange.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/http/server/parts/http_shard.h>
#include <peal/http/server/parts/route_meter.h>
#include <peal/http/server/parts/route_tree.h>

namespace peal::detail {

// HttpAnswerHead: the head of an answer without its other fields. HttpCarrier::fields() has the fields that the handler
// has set. The server adds its own fields to every answer.
struct HttpAnswerHead {
  std::string_view content_type;   // empty: the answer has no Content-Type
  std::optional<uint64_t> length;  // of the content, in bytes, even if the content is not sent; nullopt: not known
  uint16_t status = 0;
  bool says_length = false;  // false for 204, for a 2xx to CONNECT, and for a 304 of unknown length (RFC 9110 8.6)
  bool has_content = false;  // false: no content follows, even if the head states a length
  bool in_pieces = false;    // more of the request's body may be read before the answer is complete
};

inline HttpAnswerHead ok_head(std::string_view content_type, uint64_t length) {
  return {.content_type = content_type, .length = length, .status = 200, .says_length = true, .has_content = true};
}

class HttpCarrier : public HttpExchange {
 public:
  explicit HttpCarrier(HttpShard& shard) : HttpExchange(shard) {}
  virtual ~HttpCarrier() = default;

  // Both overloads return the HttpCarrier, the protocol's half, of an exchange.
  static HttpCarrier& of(HttpExchange& exchange) { return static_cast<HttpCarrier&>(exchange); }
  static const HttpCarrier& of(const HttpExchange& exchange) { return static_cast<const HttpCarrier&>(exchange); }

  // ---- Functions that HttpExchange calls when the handler answers.
  // They are called only while an answer can still be sent (HttpExchangeState::carried_).

  // Sends an interim answer, such as 100 or 103, with the fields in `field_lines`. Does nothing if the client speaks
  // HTTP/1.0, which has no interim answers.
  virtual void send_interim(int status, std::string_view field_lines) = 0;

  // Sends a whole answer. `body` is empty if head.has_content is false.
  virtual void send_answer(const HttpAnswerHead& head, std::string_view body) = 0;

  // Sends a whole answer with the head ok_head(content_type, body.size()). Most answers have this head.
  virtual void send_ok(std::string_view content_type, std::string_view body) = 0;

  // Send an answer in pieces: first send_head(), then send_piece() any number of times, then send_end(). No piece is
  // empty. send_reset() may be called instead of send_end().
  virtual void send_head(const HttpAnswerHead& head) = 0;
  virtual void send_piece(std::string_view piece) = 0;
  virtual void send_piece(Buffer&& piece) = 0;
  virtual void send_piece(FileRange piece) = 0;
  virtual void send_end() = 0;

  // Sends the output that was composed so far, or leaves it to be sent with further output of the same callback.
  // Returns true while the output is below the high-water mark.
  virtual bool flush() = 0;

  virtual bool above_high_water() const = 0;

  // True if output may still reach the client.
  virtual bool can_send() const = 0;

  // Gives up an answer that cannot be completed. abandon() is called later, after send_reset() has returned. Other
  // exchanges of the connection continue if the protocol can do that; HTTP/1.1 closes the connection.
  virtual void send_reset() = 0;

  // Continues after a change of the exchange: reads more of the body if the handler wants it, and ends an exchange
  // whose answer is complete. Does nothing inside call(); the caller of call() calls advance() afterwards.
  virtual void advance() = 0;

  // Sets the limit of the request's body, in bytes. A longer body is answered 413, or by a reset if an answer has
  // begun.
  virtual void limit_body(uint64_t bytes) = 0;

  // Sends the head that announces another protocol, or a tunnel if `protocol` is empty. Returns the status that was
  // sent. Returns 0, and sends nothing, if the request does not allow an upgrade.
  virtual int send_upgrade(std::string_view protocol) = 0;

  // Gives the connection to `handler`. Called after send_upgrade().
  virtual void hand_over(std::unique_ptr<UpgradeHandler> handler) = 0;

  virtual Connection& underlying_connection() const = 0;

  // True, except in tests that run without a connection.
  virtual bool has_connection() const { return true; }

  // Reports to Connection::count_gathered() how many bytes of the request's body the exchange holds now.
  virtual void report_gathered(size_t held_bytes) { underlying_connection().count_gathered(held_bytes); }

  // Frees the carrier, or keeps it for another request. Called when nothing uses the exchange any more.
  virtual void give_back() = 0;

  // ---- Functions that the connection's session calls when something arrives or ends.

  // Runs `function`, which calls the user's code. An exception that leaves `function` is logged, and answered 500 if
  // possible.
  template <class Function>
  [[gnu::always_inline]] void call(Function&& function) {
    ++calls_;
    try {
      function();
    } catch (...) {
      handle_exception();
    }
    --calls_;
  }

  HttpShard& shard() const { return *shard_; }
  // Remembers the time of the turn, which has read the head. HttpCore has middleware that calls this, if an access log
  // shows how long requests take.
  void note_begin() { began_ = shard().loop().now(); }
  // Returns that time and forgets it. Returns kNever if note_begin() was not called.
  TimePoint take_begin() { return std::exchange(began_, kNever); }
  uint64_t serial() const { return serial_; }

  // Begins to carry a new exchange. After this call the session fills head(), and calls keep_head() and start().
  void open() {
    carried_ = true;
    serial_ = shard().next_serial();
  }

  HttpRequestHead& head() { return head_; }
  const HttpRequestHead& head() const { return head_; }

  // Copies the text of the head into the exchange, so that the views of the head stay valid when the input is consumed.
  void keep_head();

  // Calls the handler of the route. Called when the head is complete; the session calls advance() afterwards.
  // `awaits_continue`: true if the client sends no body before it has received 100 (Continue). Returns true if the
  // answer is complete already.
  [[gnu::always_inline]] bool start(bool has_body, bool awaits_continue) {
    ++shard().stats().requests;
    head_read_ = true;
    if (has_body) {
      begin_body(awaits_continue);
    } else {
      note_request_read();
    }
    call([&] [[gnu::always_inline]] {
      RouteTree::Route* const route = shard().routes().literal(head_);
      if (route != nullptr) {
        call_handler(*route);
      } else {
        dispatch();
      }
    });
    if (complete()) [[likely]]
      return true;
    late_ = true;
    turn_began_ = shard().loop().turn_began();
    return false;
  }

  // body_arrived() passes a piece of the body to the handler, and body_ended() reports the end of the body.
  // body_arrived() may be called only while wants_body() is true. It returns false if the body is being dropped and
  // exceeds HttpServerOptions::drain_limit_bytes; the caller must then close the connection.
  bool body_arrived(std::string_view piece);
  void body_ended();

  // Sends 100 (Continue), for which the client waits before it sends its body. Sends nothing if the answer has begun,
  // because the client would take the 100 for content of that answer.
  void say_continue() {
    continue_due_ = false;
    if (!begun()) send_interim(100, {});
  }

  // Records that the request was read completely: it has no body, or the body's end arrived together with its last
  // piece.
  void note_request_read() { request_read_ = true; }

  // Discards the rest of the body from now on. Called when the answer is complete.
  void drop_body();

  // True if a further piece of the body can be used now: the handler takes it, or the server discards it.
  bool wants_body() const;

  // Begins a period of HttpServerOptions::body_window, in which min_body_bytes must arrive. `arrived` is the number of
  // bytes that the connection has received so far. The bytes of the connection are counted because they arrive evenly,
  // unlike pieces of a body.
  void begin_body_window(uint64_t arrived);

  // True if fewer than min_body_bytes have arrived in the period that ends now, or if the body has taken longer than
  // body_timeout. `arrived` is the number of bytes that the connection has received so far.
  bool body_too_slow(uint64_t arrived) const;

  // Calls the handler's on_writable, and resumes a coroutine that waits in writable(). Called when the output is below
  // the high-water mark; the session calls advance() afterwards.
  void report_writable();

  // Answers in the handler's place. Fields and the length that the handler has set are dropped; fields that middleware
  // has set stay. A later answer of the handler is ignored. The handler's on_abandoned is called when the exchange
  // ends.
  void answer_instead(int status);

  // Ends an exchange whose answer is complete. Returns true if no coroutine runs; the caller must then call
  // give_back(). Otherwise the coroutine continues, and gives the carrier back when it ends.
  [[nodiscard]] bool detach() {
    carried_ = false;
    return !has_extras_ || detach_extras();
  }

  // Stores the client's address, so that peer_address() can return it after the connection was closed.
  void keep_peer();

  // Returns the client's address. ENOTCONN: the connection was closed, and the address was not stored.
  Result<SocketAddress> known_peer() const;

  // Ends an exchange whose connection has ended. `notify`: true if the handler's on_abandoned is called.
  void abandon(bool notify);

  bool head_read() const { return head_read_; }
  bool request_read() const { return request_read_; }

  // True while the user's code runs inside call().
  bool in_call() const { return calls_ > 0; }

  bool body_taken() const { return body_consumer_ != BodyConsumer::kNobody; }
  bool body_dropped() const { return body_consumer_ == BodyConsumer::kDropped; }
  uint64_t arrived_body_bytes() const { return arrived_bytes_; }
  bool continue_due() const { return continue_due_; }
  const AnswerFields& fields() const { return fields_; }
  bool wants_close() const { return wants_close_ || body_refused_; }

  // Closes the connection after the answer, as close_after() does, but may be called outside the handler.
  void close_after_answer() { wants_close_ = true; }

  // Answers a request that no handler takes:
  // - 404, 405 or 501 if no route fits the request;
  // - 204 to OPTIONS for the whole server or for a path with routes of other methods;
  // - 400 if the path is malformed;
  // - 413 if the declared length of the body exceeds the limit of its route.
  static void answer_by_router(HttpExchange& exchange);

  // Called when the coroutine that answers the exchange has ended. Answers 500 if there is no answer, and completes a
  // stream that has begun.
  static void task_ended(HttpExchange& exchange);

 private:
  void begin_body(bool awaits_continue);
  [[gnu::always_inline]] void call_handler(RouteTree::Route& route) {
    route_ = route.number;
    if (request_read_ || body_may_come(route)) route.handler(*this);
  }
  bool body_may_come(const RouteTree::Route& route);
  void dispatch();
  void answer_through(const RouteGroupParts& group);
  static void end_waits(HttpExtras& extras);
  bool detach_extras();

  // Must be called in the catch block of call(). Counts and logs the exception. Then answers 500, or resets the
  // exchange if an answer has begun; does neither if the exchange is complete.
  void handle_exception();

  TimePoint began_ = kNever;
};

}  // namespace peal::detail
