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
  // Returns the head. It and its views are valid as long as the exchange; copy what must live longer.
  const HttpRequestHead& request() const {
    check_use();
    return head_;
  }

  // Returns the part of the path that matched `{name}` or `{name*}` in the route's pattern. The path is the one that
  // normalize_http_path() makes. Empty if the pattern has no such name. Valid as long as the exchange.
  std::string_view parameter(std::string_view name) const;
  // Returns the parameter as a T: an integer, a floating-point number or a bool. nullopt if parse_text() refuses it.
  template <class T>
  std::optional<T> parameter(std::string_view name) const {
    return parse_text<T>(parameter(name));
  }

  // Attaches a value to the request, for the handlers and middleware that come later: the user's identity, for example.
  // There is one value of each type; a second one replaces it. The value is destroyed with the exchange.
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

  // ---- The query and the cookies (http_exchange_values.cc). Views are valid as long as the exchange.

  // Return the decoded value of the first pair with that key in the query, or the values of all such pairs. HttpForm
  // says how they are decoded.
  std::optional<std::string_view> query(std::string_view key);
  std::vector<std::string_view> query_all(std::string_view key);

  // Returns the value as a number or a bool: `exchange.query<int>("ttl").value_or(60)`. nullopt if the query has no
  // such key, and also if parse_text() refuses the value; the function above tells the two apart.
  template <ParsedFromText T>
  std::optional<T> query(std::string_view key) {
    const std::optional<std::string_view> text = query(key);
    return text ? parse_text<T>(*text) : std::nullopt;
  }

  // Returns the value of the first cookie of that name, as HttpCookies reads them.
  std::optional<std::string_view> cookie(std::string_view name) const;

  // Adds a cookie to the answer; to be called before respond() or begin(). Throws std::invalid_argument if browsers
  // would refuse the cookie: see compose_set_cookie().
  void set_cookie(const SetCookie& cookie);
  // Deletes a cookie. The path and the domain must be those with which it was set.
  void delete_cookie(std::string_view name, std::string_view path = "/", std::string_view domain = {});

  Loop& loop() const;

  // Returns the connection. It lives until the answer is complete, or until the exchange is abandoned. A coroutine that
  // runs longer must call this again after each co_await. Throws std::logic_error if the connection was destroyed.
  Connection& connection() const;

  // Returns the client's address, until the end of the exchange. ENOTCONN: the client had reset the connection before
  // the handler was called.
  Result<SocketAddress> peer_address() const;

  // True if the connection has ended before the answer was complete, or if the server has answered in the handler's
  // place. Further calls then have no effect.
  bool abandoned() const { return !carried_ && (answered_instead_ || answer_ != Answer::kComplete); }

  // Returns a handle for answering from other threads and from later callbacks.
  HttpExchangeHandle handle();

  // True if the request came over HttpServerOptions::layer, such as TLS. A proxy that speaks TLS in front of this
  // server is not taken into account.
  bool is_secure() const;
  // Returns what the layer has negotiated with the client. It includes the subject and the names of the client's
  // certificate, if the client had to present one. ENOTSUP: there is no layer. ENOTCONN: the connection was destroyed.
  Result<LayerFacts> layer_facts() const;

  // ---- The body of the request.
  //
  // The body is not read before the handler asks for it, and no 100 (Continue) is sent before. A body longer than
  // RouteOptions::body_limit_bytes is answered 413; if an answer has begun, the connection is closed instead. A handler
  // chooses one of on_body(), read_body() and read(). on_body() or read_body() after another choice throws
  // std::logic_error.

  // Calls `on_piece` with each piece as it arrives, a view that is valid during the call. Then calls `on_end`: inside
  // on_body() itself if there is no body.
  void on_body(Callback<void(HttpExchange&, std::string_view piece)> on_piece, HttpCallback on_end);

  // Calls `on_whole` with the whole body. If the process is above its hard mark (memory_budget.h) before that, the
  // server answers 503, or closes the connection if an answer has begun. The budget counts the bytes gathered, if they
  // exceed 4 KiB, until the callback returns.
  void read_body(Callback<void(HttpExchange&, std::string&& body)> on_whole);

  // Reads a piece in a coroutine: `Result<Buffer> piece = co_await exchange.read();`. The piece is empty at the end of
  // the body. While the coroutine does not read, the client must wait: about 64 KiB are read ahead. ECONNRESET: the
  // connection has ended, or the server discards the rest of the body.
  detail::HttpBodyRead read() {
    check_use();
    return detail::HttpBodyRead(*this);
  }

  // Reads the whole body in a coroutine. Errors:
  // - ENOMEM: the process is above its hard mark; the server has answered 503, unless an answer had begun;
  // - ECANCELED: the body is longer than the route accepts; the server has answered 413;
  // - ECONNRESET: as read().
  Task<Result<std::string>> read_all();

  // Stops the pieces until resume_body(). Meanwhile the connection is not read, so that the client must stop sending.
  void pause_body();
  void resume_body();

  // ---- The answer.

  // Adds a field to the answer; to be called before respond() or begin(). Throws std::invalid_argument if the name is
  // not a token, or if it is a field that the server itself sets. Control characters in the value, such as CR, LF and
  // NUL, become spaces (RFC 9110 5.5); those in a content type do too.
  void set_field(std::string_view name, std::string_view value);

  // Closes the connection after this answer, which announces that (Connection: close).
  void close_after() {
    check_use();
    wants_close_ = true;
  }

  // Sends the whole answer. An empty content type adds no Content-Type field. Throws std::invalid_argument unless the
  // status is from 200 to 599. A second answer to a completed exchange is dropped, logged and counted
  // (HttpStats::answered_again). Throws std::logic_error if a stream has begun, as every function called out of order
  // does.
  void respond(int status, std::string_view content_type, std::string_view body);

  // Send the whole answer and move the body instead of copying it. Short strings are copied.
  void respond(int status, std::string_view content_type, Buffer&& body);
  template <std::same_as<std::string> Text>
  void respond(int status, std::string_view content_type, Text&& body) {
    respond_moved(status, content_type, std::forward<Text>(body));
  }

  // Answers without content, for 204, 205, 304 and redirections. For a status from 400 on, the answer is the error page
  // of that status (Router::error_page).
  void respond(int status);

  // Answers with a range of a file. The file's bytes are sent by sendfile.
  void respond_file(int status, std::string_view content_type, FileRange range);

  // Declares the length of the stream's body; to be called before begin(). Exactly so many bytes must then be written,
  // except to HEAD and with 204, 205 or 304. A write() beyond the length, or an end() before it, closes the connection
  // and logs an error.
  void set_content_length(uint64_t bytes);

  // Begins a stream: sends the head.
  void begin(int status, std::string_view content_type = {});

  // Write a piece of the stream. The output is sent when the current callback returns. An empty piece does nothing.
  // Return true while the output is below the high-water mark. After false, wait for on_writable() or writable().
  bool write(std::string_view bytes);
  bool write(Buffer&& bytes);

  // Writes a range of a file as a piece of the stream.
  void write_file(FileRange range);

  // Completes the stream.
  void end();

  // Sets the callback that is called when output above the high-water mark has drained to half of it. See
  // ConnectionCallbacks::on_writable.
  void on_writable(HttpCallback on_writable);
  // Waits, in a coroutine, until the output is below the high-water mark: `co_await exchange.writable();`.
  detail::HttpWritable writable() {
    check_use();
    return detail::HttpWritable(*this);
  }

  bool begun() const { return answer_ != Answer::kNone; }
  bool complete() const { return answer_ == Answer::kComplete; }

  // Returns the status of the answer that has begun, or 0 before.
  int status() const { return status_; }

  // Returns, in an error page, the exception that the page answers for. Null if no handler threw.
  std::exception_ptr thrown() const;

  // Sends an interim answer (RFC 9110 15.2), 102 to 199, before the final one. The fields that the handler has set are
  // sent with it and removed from the final answer. The fields of middleware are in the final answer only. Does nothing
  // if the client speaks HTTP/1.0.
  void inform(int status);

  // Changes the protocol instead of answering: sends 101 (Switching Protocols) with the fields set and
  // `Upgrade: protocol`, then gives the connection to the handler. If `protocol` is empty, sends 200, the answer to
  // CONNECT. Throws std::invalid_argument if no field may hold the protocol's name. If the request's body has not been
  // read, the server answers 400 and destroys the handler.
  void upgrade(std::string_view protocol, std::unique_ptr<UpgradeHandler> handler);

  // Gives up an answer that cannot be completed: ends the exchange with a reset. In HTTP/1.1 that closes the
  // connection.
  void abort();

  // Sets the callback for an exchange that ends without the handler's answer. It is called if
  // - the connection ends before the answer is complete;
  // - the server answers by itself, because the body is malformed, cut short, too slow or too long, because the
  //   handler threw, or because it took too long.
  // In the callback the exchange is abandoned(). The exchange ends when the callback returns.
  void on_abandoned(HttpCallback on_abandoned);

  // Runs a coroutine that answers, as a router does with a handler that is a coroutine. It is cancelled when the
  // connection is destroyed. If the coroutine ends without an answer, the server answers 500; if it ends with a stream
  // that it has begun, the stream is completed.
  void run(Task<> task);

 protected:
  explicit HttpExchange(detail::HttpShard& shard);
  ~HttpExchange();

  // Passes a piece of the request's body, a view into the input, to the receiver of the body.
  void deliver_piece(std::string_view piece);
  // Tells the receiver that the body has ended.
  void deliver_body_end();
  // Drops the fields and the length that the handler has prepared, since another answer takes their place.
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

  // Makes the exchange ready for another request, possibly of another connection.
  void reset_for_reuse() {
    reset_state();
    body_bytes_ = length_ = 0;
    status_ = 0;
    parameter_count_ = 0;
    answer_ = Answer::kNone;
    knows_length_ = has_content_ = in_error_page_ = end_delivered_ = false;
  }
  // Stops the process unless user code, or the coroutine that answers, may use the exchange now. Active in every build;
  // costs 2 instructions.
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
  // Returns the bytes that the texts occupy. Their memory is kept for later requests.
  size_t text_bytes() const { return head_room_ + fields_.capacity() + path_storage_.capacity(); }
  // Returns the bytes that a free exchange holds in addition to its own size.
  size_t kept_bytes() const;

  void overwrite_head();
  const HttpForm* decoded_query();

  // The body of the request.
  void take_body(BodyConsumer taker);
  void count_gathered();
  void refuse_body();
  bool may_read() const;
  Result<Buffer> take_read();

  // True if an answer may be begun and can still reach the client.
  bool may_answer() const {
    check_use();
    if (answered_instead_) return false;
    if (answer_ != Answer::kNone) [[unlikely]]
      return answered_again();
    return carried_;
  }
  // Reports a second answer. Logs and returns false if the exchange is complete; throws std::logic_error if
  // a stream has begun.
  [[gnu::cold]] bool answered_again() const;
  [[noreturn, gnu::cold]] void out_of_order(std::string_view what) const;
  // Sends an answer that is not the common 200 with content. Kept apart, so that respond() saves fewer registers.
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
