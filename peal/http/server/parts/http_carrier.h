// SPDX-License-Identifier: BSD-3-Clause
// HttpCarrier: what carries one exchange, in the words of RFC 9110: a request of a connection that speaks HTTP/1.1, or
// a stream of HTTP/2, of which a connection has many. It has two sides.
//
//   HttpExchange ──what it asks: respond(), begin(), write(), end(), settle(), ...──► virtual, written per version
//   its protocol ──what came: start(), body_arrived(), body_ended(), ...──► HttpCarrier, written once for all versions
//
// The exchange knows what the answer is (RFC 9110: which answers have content, declared lengths, who takes the body),
// the carrier how it is said on the wire and when. A carrier owns its exchange and may be used again with it, so that
// neither allocates for each request. Both outlive their connection where a coroutine still answers: then the carrier
// is asked nothing more (HttpExchange::carried_) but to be given back. Belongs to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <peal/http/server/http_exchange.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/http/server/parts/http_shard.h>
#include <peal/http/server/parts/route_tree.h>

namespace peal::detail {

// The head of an answer, but for the fields that were set (HttpCarrier::fields) and what every answer says.
struct HttpAnswerHead {
  std::string_view content_type;   // empty: none
  std::optional<uint64_t> length;  // of the content, or of what it would be; none: not known
  uint16_t status = 0;
  bool says_length = false;  // not with 204, a 2xx to CONNECT and a 304 that knows of none (RFC 9110 8.6)
  bool has_content = false;  // false: nothing follows, though a length be said
  bool in_pieces = false;    // more of the request's body may be read before it is complete
};

inline HttpAnswerHead ok_head(std::string_view content_type, uint64_t length) {
  return {.content_type = content_type, .length = length, .status = 200, .says_length = true, .has_content = true};
}

class HttpCarrier {
 public:
  explicit HttpCarrier(HttpShard& shard) : exchange_(shard, *this) {}
  HttpCarrier(const HttpCarrier&) = delete;
  HttpCarrier& operator=(const HttpCarrier&) = delete;
  virtual ~HttpCarrier() = default;

  // ---- What the exchange asks, while it is carried.
  // An interim answer with these fields; 100 too. To a client that knows none it does nothing.
  virtual void inform(int status, std::string_view field_lines) = 0;
  // The whole answer. Without content `body` is empty.
  virtual void respond(const HttpAnswerHead& head, std::string_view body) = 0;
  // The same for what most answers are: 200 with all its content, ok_head().
  virtual void respond_ok(std::string_view content_type, std::string_view body) = 0;
  // Or one in pieces: the head, what there is of content, never empty, and, unless a reset comes instead, the end.
  virtual void begin(const HttpAnswerHead& head) = 0;
  virtual void write(std::string_view piece) = 0;
  virtual void write(Buffer&& piece) = 0;
  virtual void write(FileRange piece) = 0;
  virtual void end() = 0;
  // What was begun and written may leave. True while below the high-water mark.
  virtual bool flush() = 0;
  virtual bool above_high_water() const = 0;
  // Whether what is written may still arrive.
  virtual bool can_send() const = 0;
  // The answer cannot be completed: abandon() follows, though not inside the call. Others go on, if that can be helped.
  virtual void reset() = 0;
  // Something about the exchange has changed: its answer is complete, its body is wanted, ...
  virtual void settle() = 0;
  // A longer body of the request is refused from now on: 413, or a reset where an answer has begun.
  virtual void limit_body(uint64_t bytes) = 0;
  // Says that another protocol follows, or with none a tunnel; returns with which status, or 0, where that cannot be.
  virtual int begin_upgrade(std::string_view protocol) = 0;
  virtual void upgrade(std::unique_ptr<UpgradeHandler> handler) = 0;
  virtual Connection& connection() const = 0;
  // False in tests alone.
  virtual bool has_connection() const { return true; }
  // So much of the request's body is gathered: Connection::count_gathered(), of all exchanges of the connection.
  virtual void count_gathered(size_t held_bytes) { connection().count_gathered(held_bytes); }
  // Nobody uses the exchange any more.
  virtual void give_back() = 0;

  // ---- What its protocol tells, and asks.
  // Calls code of the user's, and answers for its exceptions.
  template <class Function>
  [[gnu::always_inline]] static void call(HttpExchange& exchange, Function&& function) {
    ++exchange.calls_;
    try {
      function();
    } catch (...) {
      exchange.carrier_.threw();
    }
    --exchange.calls_;
  }
  template <class Function>
  [[gnu::always_inline]] void call(Function&& function) {
    call(exchange_, std::forward<Function>(function));
  }
  HttpShard& shard() const { return *exchange_.shard_; }
  HttpExchange& exchange() { return exchange_; }
  uint64_t serial() const { return exchange_.serial_; }

  // Another exchange is carried from now on; its head is filled, and then kept beyond the input it was read from.
  void open() {
    exchange_.carried_ = true;
    exchange_.serial_ = shard().next_serial();
  }
  HttpRequestHead& head() { return exchange_.head_; }
  const HttpRequestHead& head() const { return exchange_.head_; }
  void keep_head() { exchange_.keep_head(); }
  // The head is complete: the route's handler is called. `awaits_continue`: the client sends no body before a 100. Its
  // protocol settles then.
  [[gnu::always_inline]] void start(bool has_body, bool awaits_continue) {
    ++shard().stats().requests;
    exchange_.head_read_ = true;
    has_body ? begin_body(awaits_continue) : note_request_read();
    call([&] [[gnu::always_inline]] {
      RouteTree::Route* const route = shard().core().routes().literal(exchange_.head_);
      route != nullptr ? answer(*route) : dispatch();
    });
  }
  // A piece of the body, which wants_body() had asked for. False: dropped, and more than the options let be dropped.
  bool body_arrived(std::string_view piece);
  void body_ended();
  // Sends 100 (Continue), for which the client waits before it sends its body. After the head of the final answer it
  // does not: the client takes what follows for that answer's content.
  void say_continue() {
    exchange_.continue_due_ = false;
    if (!exchange_.begun()) inform(100, {});
  }
  // There is none, or its end came with the last piece.
  void note_request_read() { exchange_.request_read_ = true; }
  // Nobody is to have what is left of it, since the answer is complete.
  void drop_body();
  bool wants_body() const { return exchange_.wants_body(); }
  // HttpServerOptions::body_window: one begins; whether in the one that ends too little has come. `arrived`: what the
  // network has brought for the exchange until now, which grows evenly where pieces of the body do not.
  void begin_body_window(uint64_t arrived) { exchange_.begin_body_window(arrived); }
  bool body_too_slow(uint64_t arrived) const;
  // The output is below the high-water mark. Its protocol settles then.
  void tell_writable();
  // The server answers in the place of whoever was to, who is told so at the end, and of whose answer nothing is left:
  // neither fields nor a length. What middleware set stays.
  void answer_instead(int status);
  // Its answer is complete and it may go; a coroutine that runs on goes on, and gives it back in the end. True: nobody
  // uses it, who called gives it back.
  [[nodiscard]] bool let_go() {
    exchange_.carried_ = false;
    return !exchange_.has_extras_ || let_go_of_extras();
  }
  // Whom it comes from, for who asks when the connection is gone.
  void keep_peer();
  // ENOTCONN: the connection is gone, and the address was not kept.
  Result<SocketAddress> peer_address() const;
  // Whoever asked has gone; `tell`: the handler hears of it.
  void abandon(bool tell);

  bool head_read() const { return exchange_.head_read_; }
  bool request_read() const { return exchange_.request_read_; }
  bool begun() const { return exchange_.begun(); }
  bool complete() const { return exchange_.complete(); }
  // Code of the user's is under way: whatever it is to lead to waits.
  bool in_call() const { return exchange_.calls_ > 0; }
  bool body_taken() const { return exchange_.body_consumer_ != HttpExchange::BodyConsumer::kNobody; }
  bool body_dropped() const { return exchange_.body_consumer_ == HttpExchange::BodyConsumer::kDropped; }
  uint64_t body_bytes() const { return exchange_.arrived_bytes_; }
  bool continue_due() const { return exchange_.continue_due_; }
  const AnswerFields& fields() const { return exchange_.fields_; }
  bool wants_close() const { return exchange_.wants_close_ || exchange_.body_refused_; }
  void close_after() { exchange_.wants_close_ = true; }
  // What the router itself answers: 404, 405, 501, 204 to OPTIONS, 400 to a path that is none, and 413 to a body that
  // says that it is longer than its route takes.
  static void answer_by_router(HttpExchange& exchange);
  static HttpExtras& extras_of(HttpExchange& exchange) { return exchange.extras(); }
  // The coroutine that was to answer has ended.
  static void task_ended(HttpExchange& exchange);

 private:
  void begin_body(bool awaits_continue);
  [[gnu::always_inline]] void answer(RouteTree::Route& route) {
    if (exchange_.request_read_ || body_may_come(route)) route.handler(exchange_);
  }
  bool body_may_come(const RouteTree::Route& route);
  void dispatch();
  void answer_by_router(const RouteGroupParts& group);
  static void end_waits(HttpExtras& extras);
  bool let_go_of_extras();
  // Inside call().
  void threw();

  HttpExchange exchange_;
};

}  // namespace peal::detail
