// SPDX-License-Identifier: BSD-3-Clause
// HttpExchange: one request and its answer.
//
//   router.get("/hello/{name}", [](peal::HttpExchange& exchange) {
//     exchange.respond(200, "text/plain", exchange.parameter("name"));
//   });
//
// A handler is called as soon as the head of a request has been read. It answers before it returns, or later. An
// HttpExchange& is good inside the call that it was given to, and in a coroutine that answers it, until that ends;
// nowhere else: whoever answers later keeps handle(), which may be kept for ever. Exchanges are used again, for other
// requests of other clients, so one that is used elsewhere stops the process with a sentence. It belongs to its
// connection's loop.
//
// An answer is either whole, respond(), or a stream, begin(), write() any number of times and end(). The server adds
// Date and what tells the answer's end: its length where it is known, else whatever the client's version of HTTP has
// for that (docs/http.md). To HEAD, with 204, 205 and 304, and with a 2xx to CONNECT the fields go out and the body
// does not (RFC 9110 9.3.2, 9.3.6, 15).
// An exception that leaves a handler, or a callback given to an exchange, is logged and counted; the answer is 500
// where none had begun, else the end of the connection.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/assert.h>
#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/memory/memory_charge.h>
#include <peal/base/result.h>
#include <peal/coro/task.h>
#include <peal/engine/engine.h>
#include <peal/http/server/answer_fields.h>
#include <peal/http/server/http_exchange_handle.h>
#include <peal/http/server/upgrade_handler.h>
#include <peal/net/connection.h>
#include <peal/wire/cookies/set_cookie.h>
#include <peal/wire/http/http_request_head.h>
#include <peal/wire/parse_text.h>

namespace peal {

class HttpExchange;
class HttpForm;
namespace detail {
template <class T>
inline constexpr char kTypeMark = 0;  // whose address tells types apart
class HttpAnswered;
class HttpBodyRead;
class HttpCarrier;
class HttpHandlerTask;
class HttpShard;
class HttpWritable;
class RouteTree;
struct HttpAnswerHead;
struct HttpExtras;
}  // namespace detail

class HttpExchange final {
 public:
  HttpExchange(detail::HttpShard& shard, detail::HttpCarrier& carrier);
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // The head. It and its views are good as long as the exchange: who keeps any of it copies the bytes.
  const HttpRequestHead& request() const {
    check_use();
    return head_;
  }
  // What stands in the place of `{name}` or `{name*}` of the route's pattern, in the path as normalize_http_path()
  // makes it. Empty where the pattern has no such name. Good as long as the exchange.
  std::string_view parameter(std::string_view name) const;
  // The same as a T, an integer, floating-point number or bool; nullopt where it is none (parse_text()).
  template <class T>
  std::optional<T> parameter(std::string_view name) const {
    return parse_text<T>(parameter(name));
  }
  // What is known of the request besides, for whoever answers it after this: who the user is. One value of each type,
  // the last; it dies with the exchange. Null: there is none.
  template <class T>
  T& attach(T value) {
    auto kept = std::make_shared<T>(std::move(value));
    return attach(&detail::kTypeMark<T>, kept), *kept;
  }
  template <class T>
  T* attached() const {
    return static_cast<T*>(attached(&detail::kTypeMark<T>));
  }

  // ---- What else the request says, and cookies of the answer (http_exchange_values.cc). Views are good as long as the
  // exchange.
  // The decoded value of the first pair of the query with that key (HttpForm says how); of all of them.
  std::optional<std::string_view> query(std::string_view key);
  std::vector<std::string_view> query_all(std::string_view key);
  // The same as a number or a bool: `exchange.query<int>("ttl").value_or(60)`. Nothing where there is none, and where
  // it is anything else (parse_text()); who must tell one from the other asks for the text.
  template <ParsedFromText T>
  std::optional<T> query(std::string_view key) {
    const std::optional<std::string_view> text = query(key);
    return text ? parse_text<T>(*text) : std::nullopt;
  }
  // The value of the first cookie of that name (HttpCookies says what is one).
  std::optional<std::string_view> cookie(std::string_view name) const;
  // Before respond() or begin(). What no browser would take is refused, std::invalid_argument: compose_set_cookie().
  void set_cookie(const SetCookie& cookie);
  // With the path and the domain with which it was set.
  void delete_cookie(std::string_view name, std::string_view path = "/", std::string_view domain = {});

  Loop& loop() const;
  // It lives until the answer is complete, unless that is abandoned; a coroutine that goes on behind it asks again
  // after each co_await. std::logic_error: it is gone.
  Connection& connection() const;
  // The client's, to the end of the exchange. ENOTCONN: it had reset the connection before the handler was called.
  Result<SocketAddress> peer_address() const;
  // The connection is gone, or the server has answered by itself: what is done to this exchange has no effect.
  bool abandoned() const { return !carried_ && (taken_ || answer_ != Answer::kComplete); }
  HttpExchangeHandle handle();
  // It came over HttpServerOptions::layer, TLS say. A proxy in front that speaks TLS itself is not known of.
  bool is_secure() const;
  // What the layer has agreed on with the client: the subject and the names of its certificate, where it had to show
  // one. ENOTSUP without a layer, ENOTCONN once the connection is gone.
  Result<LayerFacts> layer_facts() const;

  // ---- The body of the request. Until somebody asks for it, it stays with the client (and 100 (Continue), where that
  // is waited for, unsent). More than RouteOptions::body_limit_bytes is answered 413 instead, or, where an answer has
  // begun, by the end of the connection. Once per exchange one of (std::logic_error):
  // Each piece as it arrives, a view that is good during the call; then `on_end`, at once where there is no body.
  void on_body(Callback<void(HttpExchange&, std::string_view piece)> on_piece, HttpCallback on_end);
  // The whole of it. 503, as 413, where the process is above its hard mark (memory_budget.h), which counts what is
  // gathered from 4 KiB on, until the call returns.
  void read_body(Callback<void(HttpExchange&, std::string&& body)> on_whole);
  // For coroutines: `Result<Buffer> piece = co_await exchange.read();`, empty at the end. Not read, the client waits.
  detail::HttpBodyRead read();
  // The whole of it. ENOMEM where the process is above its hard mark: then it has been answered 503, unless an answer
  // had begun. ECANCELED, and answered 413, where it is longer than the route takes.
  Task<Result<std::string>> read_all();
  // No piece comes until resume_body(); the client's sending comes to rest.
  void pause_body();
  void resume_body();

  // ---- The answer.
  // One more field of it; before respond() or begin(). A name that is no token, or that the server sets, is refused:
  // std::invalid_argument. Controls in a value, or in a content type, CR, LF or NUL say, become spaces (RFC 9110 5.5).
  void set_field(std::string_view name, std::string_view value);
  // The connection closes after this answer, which says so.
  void close_after() {
    check_use();
    wants_close_ = true;
  }
  // The whole answer. An empty content type sets no such field. 200 to 599: std::invalid_argument for another status.
  // An exchange that is complete is not answered again: that is logged, counted (HttpStats::answered_again) and does
  // nothing. One whose answer has begun as a stream cannot be: std::logic_error, as it is of every verb out of order.
  void respond(int status, std::string_view content_type, std::string_view body);
  // The same; the body is moved, of strings only a long one.
  void respond(int status, std::string_view content_type, Buffer&& body);
  template <std::same_as<std::string> Text>
  void respond(int status, std::string_view content_type, Text&& body) {
    respond_moved(status, content_type, std::forward<Text>(body));
  }
  // No content: for 204, 205, 304, redirections; or, from 400 on, the error page of that status (Router::error_page).
  void respond(int status);
  // Part of a file, or all of it: the file's bytes by sendfile.
  void respond_file(int status, std::string_view content_type, FileRange range);

  // How long the body will be, where that is known before begin(): exactly so much is then written, or, to HEAD, 204,
  // 205 or 304, nothing need be. With less the connection ends instead of end(), with more instead of that write().
  void set_content_length(uint64_t bytes);
  void begin(int status, std::string_view content_type = {});
  // True while below the high-water mark; after false, on_writable() or writable() tells when to go on. What is written
  // leaves when the callback returns. Empty writes do nothing.
  bool write(std::string_view bytes);
  bool write(Buffer&& bytes);
  // Part of a file in the midst of a stream.
  void write_file(FileRange range);
  void end();
  // What `on_writable` says is as Connection's.
  void on_writable(HttpCallback on_writable);
  // For coroutines: `co_await exchange.writable();`, done when the output is below the high-water mark.
  detail::HttpWritable writable();
  bool begun() const { return answer_ != Answer::kNone; }
  bool complete() const { return answer_ == Answer::kComplete; }
  // Of the answer that has begun; 0 before.
  int status() const { return status_; }
  // In an error page: what a handler threw, where the page is for that; else null.
  std::exception_ptr thrown() const;

  // Sends an interim answer (RFC 9110 15.2), 102 to 199, before the final one. The fields that the handler has set go
  // with it and are not in the final answer; those of middleware are in the final answer only. Does nothing where the
  // client speaks HTTP/1.0.
  void inform(int status);
  // Instead of an answer: 101 (Switching Protocols) with the fields set and `Upgrade: protocol`, then the connection is
  // the handler's. An empty protocol: 200, the answer to CONNECT. std::invalid_argument for one that no field may
  // hold. With a body that has not been read it is answered 400 and `handler` dropped.
  void upgrade(std::string_view protocol, std::unique_ptr<UpgradeHandler> handler);
  // For an answer that cannot be completed: ends the exchange with a reset, in HTTP/1.1 the connection.
  void abort();
  // Called when the connection ends before the answer is complete, or when the server answers by itself, because the
  // body is malformed, cut short, too slow or too long, because something threw, or because it took too long; the
  // exchange is then abandoned() and ends with the call.
  void on_abandoned(HttpCallback on_abandoned);

  // Runs a coroutine that answers, as a router does with a handler that is one. It is cancelled when the connection is
  // gone. Its end without an answer is answered 500; a stream that it has begun it also ends.
  void run(Task<> task);

 private:
  friend class HttpExchangeHandle;
  friend class HttpNext;
  friend class detail::HttpAnswered;
  friend class detail::HttpBodyRead;
  friend class detail::HttpCarrier;
  friend class detail::HttpHandlerTask;
  friend class detail::HttpShard;
  friend class detail::HttpWritable;
  friend class detail::RouteTree;
  static constexpr size_t kMostParameters = 8;
  enum class Answer : uint8_t { kNone, kBegun, kComplete };
  // Who takes the body of the request.
  enum class BodyConsumer : uint8_t { kNobody, kPieces, kWhole, kCoroutine, kDropped };
  struct Parameter {
    std::string_view name;
    std::string_view value;
  };

  // For the next request, which may be another connection's.
  void reset() {
    if (has_extras_) [[unlikely]]
      reset_extras();
    carried_ = false;
    fields_.clear();
    body_bytes_ = length_ = arrived_bytes_ = window_mark_ = drop_mark_ = 0;
    body_since_ = {};
    status_ = 0;
    parameter_count_ = 0;
    answer_ = Answer::kNone;
    body_consumer_ = BodyConsumer::kNobody;
    has_extras_ = knows_length_ = has_content_ = head_read_ = request_read_ = continue_due_ = false;
    body_paused_ = wants_close_ = body_refused_ = paging_ = taken_ = told_end_ = texts_grew_ = false;
  }
  // Whoever uses it was called with it, or is the coroutine that answers it. In every build, for 2 instructions.
  void check_use() const {
    if (calls_ == 0) [[unlikely]]
      check_run();
  }
  [[gnu::cold]] void check_run() const;
  Connection* living_connection() const;
  void attach(const void* type, std::shared_ptr<void> value);
  void* attached(const void* type) const;
  void pass_on(Task<> task);
  void reset_extras();
  // What its texts hold to be used again.
  size_t text_bytes() const { return head_room_ + fields_.capacity() + path_storage_.capacity(); }
  // All that it holds beside itself, while it is free.
  size_t kept_bytes() const;
  void keep_head();
  void overwrite_head();
  detail::HttpExtras& extras();
  const HttpForm* decoded_query();
  // The body of the request.
  void take_body(BodyConsumer taker);
  bool wants_body() const;
  void body_piece(std::string_view piece);
  void body_ended();
  void drop_body();
  void count_gathered();
  void refuse_body();
  void begin_body_window(uint64_t arrived);
  bool may_read() const;
  Result<Buffer> take_read();
  // Whether there is anybody to answer.
  bool may_answer() const {
    check_use();
    if (taken_) return false;
    if (answer_ != Answer::kNone) [[unlikely]]
      return answered_again();
    return carried_;
  }
  // Logs it and answers false where it is complete; throws where it has begun.
  [[gnu::cold]] bool answered_again() const;
  [[noreturn, gnu::cold]] void out_of_order(std::string_view what) const;
  void respond_moved(int status, std::string_view content_type, std::string&& body);
  detail::HttpAnswerHead answer_head(int status, std::string_view content_type, std::optional<uint64_t> length);
  bool may_end() const;
  bool may_write(uint64_t bytes);
  bool may_write_on() const;
  void finish();
  void finish_with(int status);
  void drop_prepared();
  void error_page(int status);
  void default_page(int status);

  detail::HttpShard* const shard_;
  detail::HttpCarrier& carrier_;  // whose part it is; asked while carried_
  HttpRequestHead head_;
  std::unique_ptr<char[]> head_text_;  // what the head's views point into
  size_t head_room_ = 0;               // bytes of it
  std::string path_storage_;           // the path, where it is not as it was sent
  detail::AnswerFields fields_;
  std::array<Parameter, kMostParameters> parameters_;
  std::unique_ptr<detail::HttpExtras> extras_;  // what only some exchanges need; kept for the next
  MemoryCharge charge_;                         // for itself and its texts, as when it was last free
  uint64_t serial_ = 0;                         // tells handles which exchange they mean
  uint64_t body_bytes_ = 0;                     // of the answer's body, so far
  uint64_t length_ = 0;                         // what it is to be, with knows_length_
  // Of the request's body:
  uint64_t arrived_bytes_ = 0;  // so far
  uint64_t window_mark_ = 0;    // how much had arrived for it when the window began
  uint64_t drop_mark_ = 0;      // how much had come when the answer was complete
  TimePoint body_since_{};      // when somebody began to want it
  uint16_t status_ = 0;
  uint8_t parameter_count_ = 0;
  uint8_t calls_ = 0;  // of user code that are under way: until they return it is not used again
  Answer answer_ = Answer::kNone;
  BodyConsumer body_consumer_ = BodyConsumer::kNobody;
  bool carried_ : 1 = false;       // by somebody who can be answered: neither abandoned nor complete and over
  bool has_extras_ : 1 = false;    // in use by this exchange
  bool knows_length_ : 1 = false;  // set_content_length() was called
  bool has_content_ : 1 = false;   // the answer that has begun may have a body
  bool head_read_ : 1 = false;     // complete and sound
  bool request_read_ : 1 = false;  // to its end
  bool continue_due_ : 1 = false;  // the client waits for 100 (Continue)
  bool body_paused_ : 1 = false;
  bool wants_close_ : 1 = false;
  bool body_refused_ : 1 = false;  // what is left of the request's body is read by nobody
  bool paging_ : 1 = false;        // inside the error page
  bool taken_ : 1 = false;         // the server has answered in the place of whoever was to
  bool told_end_ : 1 = false;      // of the body
  bool texts_grew_ : 1 = true;     // perhaps, since charge_ was set
};

namespace detail {

// Waits for some of the body. One coroutine at a time.
class [[nodiscard]] HttpBodyRead final : public Awaitable<HttpBodyRead> {
 public:
  explicit HttpBodyRead(HttpExchange& exchange) : exchange_(exchange) {}
  bool await_ready() const { return exchange_.may_read(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!begin(handle)) return false;
    enter();
    return true;
  }
  Result<Buffer> await_resume() {
    if (why_ != 0) return failed(why_);
    return exchange_.take_read();
  }
  void cancel(Why why) noexcept override;

 private:
  friend class peal::HttpExchange;
  friend class HttpCarrier;
  void enter();

  HttpExchange& exchange_;
};

// Waits until the output is below the high-water mark. One coroutine at a time.
class [[nodiscard]] HttpWritable final : public Awaitable<HttpWritable> {
 public:
  explicit HttpWritable(HttpExchange& exchange) : exchange_(exchange) {}
  bool await_ready() const;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!begin(handle)) return false;
    enter();
    return true;
  }
  // ECONNRESET: the connection is gone.
  Result<void> await_resume() const;
  void cancel(Why why) noexcept override;

 private:
  friend class HttpCarrier;
  void enter();

  HttpExchange& exchange_;
};

}  // namespace detail

inline detail::HttpBodyRead HttpExchange::read() {
  check_use();
  return detail::HttpBodyRead(*this);
}
inline detail::HttpWritable HttpExchange::writable() {
  check_use();
  return detail::HttpWritable(*this);
}

}  // namespace peal
