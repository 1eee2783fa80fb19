// SPDX-License-Identifier: BSD-3-Clause
// HttpFetch: one request of an HttpClient that is in progress, and its answer as it arrives.
//
//   waiting ──► sending ──► answer's head ──► body ──► done
//      ▲  (pool)   (dead pooled connection: once more)   │
//      └──────── redirect, or HttpRetry's back-off ──────┘
//
// The answer is read while the request's body is still being sent (RFC 9112 9.5). If it begins before the body's end:
// - A status from 300 on ends the body, since the server does not want the rest. Later writes are dropped, and the
//   connection is closed after the answer.
// - With any other status the body continues. If it is HttpClientRequest::body, on_done is called after the whole body
//   is sent, or when the server closes. If it is streamed, on_done is called at the answer's end and the connection is
//   closed.
//
// A fetch belongs to its client and is used on the client's loop. An HttpFetch& is valid inside the callback that gets
// it; later, HttpClient::find() finds the fetch by its id. No callback is called inside the call that begins the
// request. on_done is called once, as the last callback. After cancel(), or after the client was destroyed, no callback
// is called any more.
//
// If a callback throws, the connection is closed. An exception from on_done is logged instead, since the connection may
// carry another request by then.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/layer_facts.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/http/client/http_client_request.h>
#include <peal/http/client/http_trouble.h>
#include <peal/loop/timer_wheel.h>
#include <peal/net/host_port.h>
#include <peal/wire/http/http_chunk_writer.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/http/http_response_head.h>
#include <peal/wire/http/http_response_parser.h>
#include <peal/wire/uri/http_url.h>

namespace peal {

class Connection;
class HttpCookieJar;
class Loop;
struct HttpFetchCallbacks;
namespace detail {
struct HttpDecoding;
struct HttpProxy;
struct HttpRetrying;
// The address of a connection: the host and port of a URL, or the text of HttpClientRequest::connect_to.
using HttpWay = std::variant<HostPort, std::string>;
class HttpLink;
class HttpPool;
}  // namespace detail

// The id of one request of a client. A client never uses an id twice.
enum class HttpFetchId : uint64_t { kNone = 0 };

class HttpFetch final : public std::enable_shared_from_this<HttpFetch> {
 public:
  HttpFetch(const HttpFetch&) = delete;
  HttpFetch& operator=(const HttpFetch&) = delete;
  ~HttpFetch();

  HttpFetchId id() const { return id_; }
  // Returns the URL that is being requested. After a redirect, this is the URL to which the request was redirected.
  const HttpUrl& url() const { return url_; }
  // Returns what the connection's layer has agreed on with the server. May be called from on_head on. Fails with
  // ENOTSUP if the connection has no layer, and with ENOTCONN if the request has no open connection.
  Result<LayerFacts> layer_facts() const;

  // Returns true if an answer has arrived before the end of the request's body, so that the rest of the body is not
  // wanted. Bytes passed to write() are dropped from then on.
  bool refuses_body() const { return body_stopped_; }

  // Sends a piece of a streamed body, or bytes into a tunnel. Returns true if more may be written now. Returns false if
  // the caller should wait for on_writable, in these cases:
  // - the connection's output is at its high-water mark;
  // - the body cannot be sent yet, because there is no connection or no 100 Continue; the bytes are kept until then.
  // In two further cases write() returns false, and the request fails: the loop calls on_done with the error later.
  // - The error is HttpTrouble::kBadRequest if the body is longer than `streamed_bytes`, or if `streamed` is false.
  // - The error is kUploadTooFarBehind if the kept bytes exceed ConnectionOptions::output_limit_bytes.
  // After end_body(), or if refuses_body() is true, the bytes are dropped and write() returns true.
  bool write(std::string_view bytes) { return write(Buffer(bytes)); }
  bool write(Buffer&& bytes);

  // Ends a streamed body. In a tunnel, sends FIN after the bytes that were written. If fewer than `streamed_bytes` were
  // written, or if `streamed` is false, the request fails with HttpTrouble::kBadRequest. A second call has no effect.
  void end_body();
  // Ends a streamed body and sends trailers after the last chunk (RFC 9110 6.5, RFC 9112 7.1.2). Their number and
  // length are not limited. The views must be valid until the call returns. Servers may ignore trailers; the request
  // can announce them in a Trailer field (RFC 9110 6.6.2). Returns false and does nothing if:
  // - the body is not sent in chunks: `streamed_bytes` is set, `streamed` is false, or the request has become a tunnel;
  // - the body or the request has ended;
  // - a field is not allowed in trailers, as fields for framing, routing, credentials and content (RFC 9110 6.5.1);
  // - a field's name is no token, or its value has a control character.
  [[nodiscard]] bool end_body(std::span<const HttpField> trailers);

  // pause() stops calls of on_body and stops reading the socket, so that the server has to wait. resume() starts both
  // again. Both functions may be called at any time. While the fetch is paused, redirects are still followed, and
  // on_head and on_done may still be called.
  void pause();
  void resume();

  // Ends the request and closes the connection that carries it. No callback of the request is called after that.
  void cancel();

  // Returns the connection if the request has become a tunnel, otherwise null. on_head may pass the connection to
  // pipe(); after that only on_done is called.
  Connection* tunnel() const;

 private:
  friend class HttpClient;
  friend class detail::HttpLink;
  friend class detail::HttpPool;
  enum class State : uint8_t {
    kWaiting,           // in the pool's queue
    kBackingOff,        // waits until the next attempt is due
    kAnswering,         // on a connection, before the answer's head is complete
    kBody,              // shows the answer's body
    kDiscarding,        // skips the body of a redirect, or of an answer that will be requested again
    kFinishingRequest,  // the answer is complete, the request's body is not sent to its end
    kTunnel,            // the connection carries another protocol now
    kFailing,           // has failed inside a call of the user's; on_done follows from the loop
    kOver,              // ended: no callback is called any more
  };

  HttpFetch(const std::shared_ptr<detail::HttpPool>& pool, HttpFetchId id, HttpClientRequest request, HttpUrl url,
            std::unique_ptr<HttpFetchCallbacks> callbacks);

  // Functions that the pool calls. give_up() is the only one of them that calls the user's code.

  // compose() writes the request's head into request_text_. It fails with HttpTrouble::kNeedsLayer or kBadRequest.
  // add_cookies() and add_proxy_fields() add the fields that the cookie jar and the proxy ask for.
  Result<void> compose();
  void add_cookies(std::vector<HttpRequestField>& fields) const;
  void add_proxy_fields(std::vector<HttpRequestField>& fields) const;
  // Returns the address to connect to. This is connect_to if set, otherwise the proxy's address if the request uses a
  // proxy, otherwise the URL's host and port.
  detail::HttpWay way() const;
  // Returns the proxy that this request uses, or null if it uses none.
  const detail::HttpProxy* proxy() const;
  // Returns true if the proxy has to open a tunnel for this request, which the client asks for with CONNECT.
  bool needs_tunnel() const { return (url_.is_https() || request_.may_upgrade) && proxy() != nullptr; }
  // Returns the key of the request's origin in the pool. Only connections with the same key can carry the request (RFC
  // 9110 4.3.1). The key has the scheme, the URL's host and port, and the proxy if the request uses one. If connect_to
  // is set, the key has that address, and host and port only if there is a layer: two hosts at one address prove
  // different identities.
  std::string connection_key() const;
  // Stores the deadlines and starts the timer of HttpDeadlines::total.
  void begin(const HttpDeadlines& deadlines);
  // Allows HttpRetry to repeat this request. `whole` is true if the answer is collected before the application gets it.
  // Such a request may be repeated even after a part of the answer's body has arrived.
  void begin_attempts(bool whole);
  void wait_in_queue();
  // Sends the request on `link`.
  void start_on(detail::HttpLink& link);
  // Fails the request later, from the loop. No callback is called inside this function.
  void fail_soon(std::error_code error);
  // Ends this attempt with an error and closes its connection. Then waits for another attempt if HttpRetry allows one,
  // otherwise calls on_done.
  void give_up(std::error_code error);
  // Removes the request from the queue and fails it from the loop. Called when the application has made an invalid
  // call.
  void refuse(std::error_code error);
  // Ends the request without calling any callback. Called when the client is being destroyed.
  void retire();

  // Functions that the link calls which carries this request.
  void received(Buffer& input);
  void peer_ended();
  void writable();
  // Called when the connection has ended. `stale` is true if the connection had carried an earlier request and no byte
  // of this answer has arrived. The server may then have closed the connection before it saw this request.
  void connection_lost(std::error_code error, bool stale);

  size_t take(std::string_view bytes);
  void resume_reading();
  bool take_body(std::string_view piece);

  // These functions are defined in http_fetch_head.cc.
  size_t take_head(std::string_view bytes);
  void first_byte_seen(bool begun);
  void await_first_byte();
  void interim_head_complete();
  void head_complete();
  void become_tunnel();

  // These functions are defined in http_fetch_retry.cc.
  bool is_harmless_twice() const;
  void begin_attempt();
  void end_attempt();
  bool plan_retry(Duration least);
  bool plan_retry_of_answer();
  bool back_off_after(std::error_code error);
  void back_off();
  void end_back_off();
  void attempt_again();

  // These functions handle a body that is decoded. They are defined in http_fetch_decode.cc.
  void begin_decoding();
  bool show_decoded(std::string_view bytes);
  void show_pending();
  bool has_pending_body() const;
  bool all_decoded(bool clean);

  // In answer_complete() and must_finish_request(), `clean` is true if no byte followed the answer on its connection.
  void answer_complete(bool clean);
  bool must_finish_request(bool clean) const;

  void request_finished();
  void report_body_unwanted();
  void call_on_writable();
  void count_gathered(size_t held_bytes);
  void done(const Result<void>& how);
  bool shows_body() const { return state_ == State::kBody || state_ == State::kTunnel; }
  bool has_body() const { return request_.streamed || !request_.body.empty(); }
  bool follows_redirect() const;

  void follow_redirect(bool clean);
  void answer_discarded(bool clean);

  void discard_timed_out() { answer_discarded(false); }
  void leave_link(bool reusable);
  void leave_link_in_order(bool clean);
  void begin_body();
  void send_body();
  bool send_piece(Buffer&& bytes);
  void request_complete();

  // Starts the timer of the current phase, which calls the member function `then` after `delay`. There is one such
  // timer; an earlier one is cancelled. If `delay` is 0, the timer is only cancelled.
  void set_phase_timer(Duration delay, void (HttpFetch::*then)());
  // Calls the member function `then` later, from the loop.
  void call_soon(void (HttpFetch::*then)()) { start_phase_timer({}, then); }
  // Starts the timer of the current phase. If `delay` is 0, the loop calls `then` as soon as possible.
  void start_phase_timer(Duration delay, void (HttpFetch::*then)());

  void cancel_timers();
  void send_held_body();
  void queue_timed_out();
  void first_byte_timed_out() { give_up(make_error_code(HttpTrouble::kFirstByteTimeout)); }
  void attempt_timed_out() { give_up(make_error_code(HttpTrouble::kAttemptTimeout)); }
  void total_timed_out() { give_up(make_error_code(HttpTrouble::kTotalTimeout)); }
  void report_failure() { give_up(failure_); }
  HttpResponseParser& parser() const;

  const std::weak_ptr<detail::HttpPool> pool_;  // alive until this fetch is kOver
  const HttpFetchId id_;

  // Copies of options of the client and of the request.
  HttpCookieJar* const cookies_;
  const bool decodes_;
  const bool has_proxies_;

  HttpClientRequest request_;
  HttpUrl url_;
  const std::unique_ptr<HttpFetchCallbacks> callbacks_;
  HttpDeadlines deadlines_;
  std::string request_text_;  // the request's head, as it is sent
  detail::HttpLink* link_ = nullptr;
  std::string head_text_;  // the part of the answer's head that has arrived
  HttpResponseHead head_;
  std::unique_ptr<detail::HttpRetrying> retrying_;  // null if HttpRetry may not repeat this request
  std::unique_ptr<detail::HttpDecoding> decoding_;  // null if the answer's body is not decoded
  Buffer early_;                                    // pieces of the body that cannot be sent yet
  std::string last_chunk_{kHttpLastChunk};
  uint64_t body_sent_ = 0;             // bytes of request_.body that were sent, or that write() took
  uint64_t discarded_bytes_ = 0;       // bytes of an answer's body that were skipped
  size_t gathered_ = 0;                // the last value passed to Connection::count_gathered()
  TimePoint first_byte_due_ = kNever;  // kNever before the request is sent to its end
  TimerId phase_timer_;
  TimerId total_timer_;
  std::error_code failure_;  // the error that kFailing will report
  unsigned redirects_ = 0;
  State state_ = State::kWaiting;
  bool repeated_ = false;          // a stale connection has cost this request its one repetition
  bool says_close_ = false;        // the request has "Connection: close"
  bool expects_continue_ = false;  // the request says "Expect: 100-continue"
  bool awaits_continue_ = false;   // the body waits for 100 Continue
  bool body_wanted_ = false;       // the body may be sent now
  bool body_ended_ = false;        // end_body() was called
  bool body_stopped_ = false;      // the server does not want the rest of the body
  bool request_complete_ = false;  // the connection has got the whole request
  bool answer_begun_ = false;      // a byte has arrived that is not known to be an interim answer's
  bool wants_writable_ = false;    // write() has returned false
  bool paused_ = false;
};

struct HttpFetchCallbacks {
  // Called with each interim answer before the final one (RFC 9110 15.2), including 100 but never 101. A proxy passes
  // interim answers on to its client; 103 (RFC 8297) names resources that can be fetched early. The heads of all
  // interim answers and of the final one together are at most HttpResponseLimits::head_bytes long.
  Callback<void(HttpFetch&, const HttpResponseHead& head)> on_interim = nullptr;

  // Called with the head of the final answer, which may be a 101. Not called for a redirect that is followed.
  Callback<void(HttpFetch&, const HttpResponseHead& head)> on_head = nullptr;

  // Called with a piece of the answer's body, without chunk framing. The piece is decoded if the request asks for it.
  // In a tunnel, called with the bytes that arrived.
  Callback<void(HttpFetch&, std::string_view bytes)> on_body = nullptr;

  // Called once after write() has returned false, as soon as write() may be called again. Also called if the rest of
  // the body is not wanted any more.
  Callback<void(HttpFetch&)> on_writable = nullptr;

  // Called after a chunked body, before on_done, if the body has trailers (RFC 9110 6.5, RFC 9112 7.1.2). `lines` are
  // the field lines of the trailers, each with its CR LF, for next_http_field(). They are valid during the call and at
  // most HttpResponseLimits::head_bytes long. Keep them apart from the fields of the head, which trailers must not
  // replace. Some servers send trailers only if the request has `TE: trailers` and `Connection: TE` (RFC 9110 10.1.4).
  Callback<void(HttpFetch&, std::string_view lines)> on_trailers = nullptr;

  // Called once when the request or its tunnel ends. If the answer is not complete, the error is an HttpTrouble, an
  // errno or a Trouble.
  Callback<void(Result<void>)> on_done = nullptr;
};

}  // namespace peal
