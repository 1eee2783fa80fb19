// SPDX-License-Identifier: BSD-3-Clause
// HttpExchange: one request and its answer.
//
//   router.get("/hello/{name}", [](peal::HttpExchange& exchange) {
//     exchange.respond(200, "text/plain", exchange.parameter("name"));
//   });
//
// The server calls a handler as soon as the head of a request has been read. The handler answers before it returns, or
// later.
//
// An HttpExchange& may be used only during the call that it was given to; a coroutine that answers it may use it until
// the coroutine ends. Code that answers at another time keeps handle(), which may be kept for any time. The server
// reuses the object for other requests of other clients. Using it at another time therefore stops the process with a
// message. An exchange belongs to the loop of its connection, and only that thread uses it.
//
// An answer is either whole, by respond(), or a stream: begin(), any number of write(), then end(). The server adds
// Date, and what marks the answer's end: Content-Length if the length is known, else what the client's version of HTTP
// has for it (docs/http.md). The body is not sent to HEAD, with 204, 205 and 304, and with a 2xx to CONNECT (RFC 9110
// 9.3.2, 9.3.6, 15); the fields are sent.
//
// An exception that leaves a handler, or a callback given to an exchange, is logged and counted. The server then
// answers 500; if an answer had begun, it closes the connection instead.
//
// HttpExchange is the handler's half of an exchange and decides what the answer is. The protocol's half is HttpCarrier,
// which derives from it. HttpCarrier decides which handler is called, when the body reaches it, and how the answer is
// written on the wire. Both use HttpExchangeState; HttpCarrier has no access to the private members here.
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
#include <peal/http/server/http_exchange_handle.h>
#include <peal/http/server/http_exchange_state.h>
#include <peal/http/server/http_exchange_waits.h>
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
inline constexpr char kTypeMark = 0;  // its address identifies the type T
class HttpAnswered;
class HttpCarrier;
class HttpHandlerTask;
class RouteTree;
struct HttpAnswerHead;
}  // namespace detail

class HttpExchange : protected detail::HttpExchangeState {
 public:
  // Returns the head of the request. The head and its views are valid until the exchange ends; copy what must live
  // longer.
  const HttpRequestHead& request() const {
    check_use();
    return head_;
  }

  // Returns the part of the request's path that matched `{name}` or `{name*}` in the route's pattern. The path is
  // normalized first, by normalize_http_path(). Empty if the pattern has no parameter of that name. The view is valid
  // until the exchange ends.
  std::string_view parameter(std::string_view name) const;
  // Returns the parameter converted to T, which is an integer, a floating-point number or bool. nullopt if parse_text()
  // refuses the parameter's text.
  template <class T>
  std::optional<T> parameter(std::string_view name) const {
    return parse_text<T>(parameter(name));
  }

  // Attaches a value to the request, such as the user's identity, for handlers and middleware that are called later. A
  // request has at most one value of each type: a second value of a type replaces the first. The value is destroyed
  // when the exchange ends.
  template <class T>
  T& attach(T value) {
    auto kept = std::make_shared<T>(std::move(value));
    attach(&detail::kTypeMark<T>, kept);
    return *kept;
  }

  // Returns the attached value of type T, or null if there is none.
  template <class T>
  T* attached() const {
    return static_cast<T*>(attached(&detail::kTypeMark<T>));
  }

  // ---- The query and the cookies (http_exchange_values.cc). Returned views are valid until the exchange ends.

  // query() returns the decoded value of the first pair with that key in the query, or nullopt if there is none.
  // query_all() returns the decoded values of all such pairs. The class HttpForm describes the decoding.
  std::optional<std::string_view> query(std::string_view key);
  std::vector<std::string_view> query_all(std::string_view key);

  // Returns the value of the first pair with that key as a number or a bool: `exchange.query<int>("ttl").value_or(60)`.
  // nullopt if the query has no such key, or if parse_text() refuses the value. To distinguish these two cases, call
  // query() without a type.
  template <ParsedFromText T>
  std::optional<T> query(std::string_view key) {
    const std::optional<std::string_view> text = query(key);
    return text ? parse_text<T>(*text) : std::nullopt;
  }

  // Returns the value of the first cookie of that name in the request, or nullopt. HttpCookies describes how cookies
  // are parsed.
  std::optional<std::string_view> cookie(std::string_view name) const;

  // Adds a cookie to the answer. Must be called before respond() or begin(). Throws std::invalid_argument if browsers
  // would refuse the cookie: see compose_set_cookie().
  void set_cookie(const SetCookie& cookie);
  // Makes the browser delete a cookie. `path` and `domain` must be those with which the cookie was set. Must be called
  // before respond() or begin().
  void delete_cookie(std::string_view name, std::string_view path = "/", std::string_view domain = {});

  Loop& loop() const;

  // Returns the connection. The reference is valid until the answer is complete or the exchange is abandoned. A
  // coroutine that runs longer must call connection() again after each co_await. Throws std::logic_error if the
  // connection was destroyed.
  Connection& connection() const;

  // Returns the client's address. May be called until the exchange ends. ENOTCONN: the client had already reset the
  // connection when the handler was called.
  Result<SocketAddress> peer_address() const;

  // True if the connection has ended before the answer was complete, or if the server has answered in the handler's
  // place. An answer that the handler sends afterwards has no effect.
  bool abandoned() const { return !carried_ && (answered_instead_ || answer_ != Answer::kComplete); }

  // Returns a handle by which other threads and later callbacks can answer.
  HttpExchangeHandle handle();

  // True if the request came over HttpServerOptions::layer, such as TLS. False if only a proxy in front of this server
  // speaks TLS with the client.
  bool is_secure() const;
  // Returns the facts that the layer has negotiated with the client. They include the subject and the names of the
  // client's certificate, if the client had to present one. ENOTSUP: the server has no layer. ENOTCONN: the connection
  // was destroyed.
  Result<LayerFacts> layer_facts() const;

  // ---- The body of the request.
  //
  // The server does not read the body, and does not send 100 (Continue), before the handler asks for the body. A body
  // longer than RouteOptions::body_limit_bytes is answered 413; if an answer has begun, the connection is closed
  // instead. A handler chooses one of on_body(), read_body() and read(). Calling on_body() or read_body() after one of
  // these functions was called throws std::logic_error.

  // Calls `on_piece` with each piece of the body when it arrives. The piece is a view that is valid during the call.
  // Calls `on_end` after the last piece. If the request has no body, on_body() itself calls `on_end`.
  void on_body(Callback<void(HttpExchange&, std::string_view piece)> on_piece, HttpCallback on_end);

  // Calls `on_whole` with the whole body when it has arrived. If the process exceeds its hard mark (memory_budget.h)
  // before that, the server answers 503, or closes the connection if an answer has begun. If more than 4 KiB are
  // gathered, the memory budget counts them until the callback returns.
  void read_body(Callback<void(HttpExchange&, std::string&& body)> on_whole);

  // Reads the next piece of the body in a coroutine: `Result<Buffer> piece = co_await exchange.read();`. The piece is
  // empty at the end of the body. About 64 KiB are read ahead; then the client must wait until the coroutine reads.
  // ECONNRESET: the connection has ended, or the server discards the rest of the body.
  detail::HttpBodyRead read() {
    check_use();
    return detail::HttpBodyRead(*this);
  }

  // Reads the whole body in a coroutine. Errors:
  // - ENOMEM: the process is above its hard mark (memory_budget.h). The server has answered 503, unless an answer had
  //   begun.
  // - ECANCELED: the coroutine was cancelled while it waited for the body. The server has answered in the coroutine's
  //   place, such as 413 to a body longer than the route accepts, or the connection has ended.
  // - ECONNRESET: the connection has ended, or the server discards the rest of the body.
  Task<Result<std::string>> read_all();

  // pause_body() stops the delivery of the body until resume_body() is called. The connection is not read meanwhile, so
  // the client must stop sending.
  void pause_body();
  void resume_body();

  // ---- The answer.

  // Adds a field to the answer. Must be called before respond() or begin(). Throws std::invalid_argument if the name is
  // not a token, or names a field that the server itself sets. Control characters in the value, such as CR, LF and NUL,
  // are replaced by spaces (RFC 9110 5.5). Those in a content type are replaced too.
  void set_field(std::string_view name, std::string_view value);

  // Makes the server close the connection after this answer, which then has the field `Connection: close`.
  void close_after() {
    check_use();
    wants_close_ = true;
  }

  // Sends the whole answer. If `content_type` is empty, the answer has no Content-Type field. Throws
  // std::invalid_argument unless the status is from 200 to 599. Throws std::logic_error if begin() was called before.
  // If the exchange was already answered, this second answer is dropped, logged and counted
  // (HttpStats::answered_again).
  void respond(int status, std::string_view content_type, std::string_view body);

  // These overloads send the whole answer and move the body instead of copying it. Short strings are copied.
  void respond(int status, std::string_view content_type, Buffer&& body);
  template <std::same_as<std::string> Text>
  void respond(int status, std::string_view content_type, Text&& body) {
    respond_moved(status, content_type, std::forward<Text>(body));
  }

  // Sends an answer without content, such as 204, 205, 304 or a redirection. For a status from 400 on, sends the error
  // page of that status instead (Router::error_page).
  void respond(int status);

  // Sends a whole answer whose body is a range of a file. The file's bytes are sent by sendfile.
  void respond_file(int status, std::string_view content_type, FileRange range);

  // Declares the length of the body of a stream. Must be called before begin(). The handler must then write exactly
  // this number of bytes, except to HEAD and with 204, 205 or 304. If the handler writes more, or calls end() too
  // early, the connection is closed and an error is logged.
  void set_content_length(uint64_t bytes);

  // Begins a stream: sends the head of the answer.
  void begin(int status, std::string_view content_type = {});

  // Both overloads write a piece of the stream. The output is sent when the current callback returns. An empty piece
  // has no effect. They return true while the output is below the high-water mark. After false, wait for on_writable()
  // or writable() before the next write().
  bool write(std::string_view bytes);
  bool write(Buffer&& bytes);

  // Writes a range of a file as a piece of the stream.
  void write_file(FileRange range);

  // Completes the stream.
  void end();

  // Sets the callback that is called when output that was above the high-water mark has drained to half of it. See
  // ConnectionCallbacks::on_writable.
  void on_writable(HttpCallback on_writable);
  // Waits, in a coroutine, until the output is below the high-water mark: `co_await exchange.writable();`.
  detail::HttpWritable writable() {
    check_use();
    return detail::HttpWritable(*this);
  }

  bool begun() const { return answer_ != Answer::kNone; }
  bool complete() const { return answer_ == Answer::kComplete; }

  // Returns the status of the answer, or 0 if the answer has not begun.
  int status() const { return status_; }

  // Returns the exception that a handler threw and that is answered 500. To be called by a function that writes error
  // pages (Router::error_page). Null if no handler threw.
  std::exception_ptr thrown() const;

  // Sends an interim answer (RFC 9110 15.2), with a status from 102 to 199, before the final answer. Fields that the
  // handler has set are sent in the interim answer and removed from the final one. Fields that middleware has set are
  // sent only in the final answer. Does nothing if the client speaks HTTP/1.0.
  void inform(int status);

  // Changes the protocol instead of answering: sends 101 (Switching Protocols), with the fields set so far and an
  // Upgrade field with the value `protocol`. Then gives the connection to `handler`. If `protocol` is empty, sends 200,
  // which is the answer to CONNECT. Throws std::invalid_argument if `protocol` has characters that a field must not
  // have. If the request's body has not been read, the server answers 400 and destroys `handler`.
  void upgrade(std::string_view protocol, std::unique_ptr<UpgradeHandler> handler);

  // Gives up an answer that cannot be completed, and ends the exchange with a reset. In HTTP/1.1 a reset closes the
  // connection.
  void abort();

  // Sets the callback for an exchange that ends without the handler's answer. The callback is called if
  // - the connection ends before the answer is complete;
  // - the server answers in the handler's place because the body is malformed, cut short, too slow or too long;
  // - the server answers in the handler's place because the handler threw or took too long.
  //
  // During the callback abandoned() is true. The exchange ends when the callback returns.
  void on_abandoned(HttpCallback on_abandoned);

  // Runs a coroutine that answers the exchange. A router calls this function for a handler that is a coroutine. The
  // coroutine is cancelled when the connection is destroyed. If the coroutine ends without an answer, the server
  // answers 500. If it ends while a stream is in progress, the server completes the stream.
  void run(Task<> task);

 protected:
  explicit HttpExchange(detail::HttpShard& shard);
  ~HttpExchange();

  // Passes a piece of the request's body to the receiver of the body. The piece is a view into the input.
  void deliver_piece(std::string_view piece);
  // Reports to the receiver of the body that the body has ended.
  void deliver_body_end();
  // Drops the fields and the length that the handler has set, because another answer is sent in place of the handler's.
  void drop_prepared();

 private:
  friend class HttpNext;
  friend class detail::HttpAnswered;
  friend class detail::HttpBodyRead;
  friend class detail::HttpHandlerTask;
  friend class detail::HttpShard;
  friend class detail::HttpWritable;
  friend class detail::RouteTree;
  static constexpr size_t kMostParameters = 8;
  enum class Answer : uint8_t { kNone, kBegun, kComplete };
  struct Parameter {
    std::string_view name;
    std::string_view value;
  };

  // Resets the exchange for another request, possibly of another connection.
  void reset_for_reuse() {
    reset_state();
    body_bytes_ = length_ = 0;
    status_ = 0;
    parameter_count_ = 0;
    answer_ = Answer::kNone;
    knows_length_ = has_content_ = in_error_page_ = end_delivered_ = false;
  }
  // Stops the process unless a call of the user's code is in progress or the coroutine that answers this exchange has
  // not ended. The check is active in every build and costs two instructions.
  void check_use() const {
    if (calls_ == 0) [[unlikely]]
      check_run();
  }
  [[gnu::cold]] void check_run() const;

  // Returns the connection, or null if it was destroyed.
  Connection* living_connection() const;

  void attach(const void* type, std::shared_ptr<void> value);
  void* attached(const void* type) const;
  void pass_on(Task<> task);
  // Returns the memory of the exchange's texts, in bytes. The memory is kept for later requests.
  size_t text_bytes() const { return head_room_ + fields_.capacity() + path_storage_.capacity(); }
  // Returns the bytes that an exchange holds in addition to its own size while it is kept for reuse.
  size_t kept_bytes() const;

  void overwrite_head();
  const HttpForm* decoded_query();

  // Functions that receive the body of the request (http_exchange_body.cc).
  void take_body(BodyConsumer taker);
  void count_gathered();
  void refuse_body();
  bool may_read() const;
  Result<Buffer> take_read();

  // True if an answer may begin now and can still reach the client.
  bool may_answer() const {
    check_use();
    if (answered_instead_) return false;
    if (answer_ != Answer::kNone) [[unlikely]]
      return answered_again();
    return carried_;
  }
  // Reports that the handler answers for the second time. If the exchange is complete, logs that and returns false. If
  // a stream has begun, throws std::logic_error.
  [[gnu::cold]] bool answered_again() const;
  [[noreturn, gnu::cold]] void out_of_order(std::string_view what) const;
  // Sends an answer that is not the common 200 with content. This is a separate function so that respond() saves fewer
  // registers.
  [[gnu::noinline]] void respond_other(int status, std::string_view content_type, std::string_view body);
  void respond_moved(int status, std::string_view content_type, std::string&& body);
  detail::HttpAnswerHead answer_head(int status, std::string_view content_type, std::optional<uint64_t> length);
  bool may_end() const;
  bool may_write(uint64_t bytes);
  bool may_write_on() const;
  void finish();
  void finish_with(int status);
  void error_page(int status);
  void default_page(int status);

  std::array<Parameter, kMostParameters> parameters_;
  MemoryCharge charge_;      // memory of this object and its texts, set when the object was last free
  uint64_t body_bytes_ = 0;  // bytes of the answer's body so far
  uint64_t length_ = 0;      // declared length of the answer's body, if knows_length_
  uint16_t status_ = 0;      // status of the answer; 0 before it begins
  uint8_t parameter_count_ = 0;
  Answer answer_ = Answer::kNone;
  bool knows_length_ : 1 = false;   // true if set_content_length() was called
  bool has_content_ : 1 = false;    // true if the answer that has begun may have a body
  bool in_error_page_ : 1 = false;  // true while the error page runs
  bool end_delivered_ : 1 = false;  // true if the end of the body was delivered
};

}  // namespace peal
