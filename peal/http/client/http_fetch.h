// SPDX-License-Identifier: BSD-3-Clause
// HttpFetch: one request under way at an HttpClient, and its answer as it arrives.
//
//   waiting ──► sending ──► answer's head ──► body ──► done
//      ▲  (pool)   (dead pooled connection: once more)   │
//      └──────── redirect, or HttpRetry's back-off ──────┘
//
// The answer is listened to while the request's body is sent (RFC 9112 9.5). One with a status from 300 on ends the
// body, since the server does not want what is left: what is written is then dropped, and the connection closes behind
// the answer. With another the body goes on; where that is a string on_done waits for its end, unless the server
// closes. One that is streamed ends with the answer, and so does its connection.
//
// It belongs to its client. A HttpFetch& is good inside the callback it was given to; later ask HttpClient::find().
// on_done comes once and last, unless it was cancelled or the client destroyed: then nothing comes any more. No
// callback comes inside the call that began the request. An exception that leaves a callback closes the connection.
// One that leaves on_done is logged instead: by then the connection may carry another request.
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
// Where a connection goes: what a URL names, or a text of the user's own as Client::connect() takes it.
using HttpWay = std::variant<HostPort, std::string>;
class HttpLink;
class HttpPool;
}  // namespace detail

// Never given out twice by one client.
enum class HttpFetchId : uint64_t { kNone = 0 };

class HttpFetch final : public std::enable_shared_from_this<HttpFetch> {
 public:
  HttpFetch(const HttpFetch&) = delete;
  HttpFetch& operator=(const HttpFetch&) = delete;
  ~HttpFetch();

  HttpFetchId id() const { return id_; }
  // Where the answer comes from, or is hoped for.
  const HttpUrl& url() const { return url_; }
  // What the layer has agreed on with the server, from on_head on. ENOTSUP without one, ENOTCONN where no connection
  // carries it.
  Result<LayerFacts> layer_facts() const;

  // The answer came before the body's end, and nothing more of that is sent.
  bool refuses_body() const { return body_stopped_; }

  // A piece of a streamed body. True while below the connection's high-water mark; after false, on_writable tells when
  // to go on. What is given before the connection wants it is kept. More than `streamed_bytes` in all, or any
  // where nothing is streamed, gives the request up (HttpTrouble::kBadRequest), as end_body() does with fewer. After
  // end_body() it is dropped. In a tunnel it is sent as it is.
  bool write(std::string_view bytes) { return write(Buffer(bytes)); }
  bool write(Buffer&& bytes);
  // Of a tunnel: FIN behind what was written.
  void end_body();
  // With trailers, which follow the last chunk (RFC 9110 6.5, RFC 9112 7.1.2): any number of any length; the views are
  // good until the call returns. Nobody need heed them, and who wants to be told before says so in a Trailer field of
  // the request (RFC 9110 6.6.2). False, and nothing has happened, where no chunks are sent (`streamed_bytes`, no
  // `streamed`, a tunnel), where the body has ended, and where a field may not come so late: framing, routing,
  // credentials, content description (RFC 9110 6.5.1), or no token for a name, or a control in the value.
  [[nodiscard]] bool end_body(std::span<const HttpField> trailers);

  // Stops and resumes on_body, at any time; the server is slowed down. on_head comes all the same, before it the
  // redirects, and on_done may come meanwhile.
  void pause();
  void resume();
  // Closes the connection that carries it; nothing more is called back.
  void cancel();

  // Of a tunnel, for pipe() inside on_head: then nothing comes here but on_done. Otherwise null.
  Connection* tunnel() const;

 private:
  friend class HttpClient;
  friend class detail::HttpLink;
  friend class detail::HttpPool;
  enum class State : uint8_t {
    kWaiting,     // in the pool's queue
    kBackingOff,  // before the next attempt
    kAnswering,   // on a connection, until the answer's head is there
    kBody,
    kDiscarding,        // the body of a redirect, or of an answer that is asked for again
    kFinishingRequest,  // the answer is complete, the request is not
    kTunnel,
    kFailing,  // to be told so from the loop
    kOver,
  };

  HttpFetch(const std::shared_ptr<detail::HttpPool>& pool, HttpFetchId id, HttpClientRequest request, HttpUrl url,
            std::unique_ptr<HttpFetchCallbacks> callbacks);

  // For the pool. Without a word to the user, but for give_up().
  Result<void> compose();
  void add_cookies(std::vector<HttpRequestField>& fields) const;
  void add_proxy_fields(std::vector<HttpRequestField>& fields) const;
  detail::HttpWay way() const;
  // Whom its connection goes by; null: none.
  const detail::HttpProxy* proxy() const;
  // Through it, to be asked for by CONNECT.
  bool needs_tunnel() const { return (url_.is_https() || request_.may_upgrade) && proxy() != nullptr; }
  // What a connection that carries it must have in common with it: what is spoken, and to whom (RFC 9110 4.3.1). With
  // a layer that is also whom the peer has proved to be: who is reached by the same way may be somebody else.
  std::string connection_key() const;
  void begin(const HttpDeadlines& deadlines);
  // It may be repeated; `whole`: what is shown of its answer may begin anew.
  void begin_attempts(bool whole);
  void wait_in_queue();
  void start_on(detail::HttpLink& link);
  void fail_soon(std::error_code error);
  void give_up(std::error_code error);
  void refuse(std::error_code error);
  void retire();

  // For its link.
  void received(Buffer& input);
  void peer_ended();
  void writable();
  // The connection has ended. `unheard`: it had served before, and of this answer no byte came.
  void connection_lost(std::error_code error, bool stale);

  size_t take(std::string_view bytes);
  void resume_reading();
  bool take_body(std::string_view piece);
  // http_fetch_head.cc
  size_t take_head(std::string_view bytes);
  void first_byte_seen(bool begun);
  void await_first_byte();
  void interim_head_complete();
  void head_complete();
  void become_tunnel();
  // http_fetch_retry.cc
  bool is_harmless_twice() const;
  void begin_attempt();
  void end_attempt();
  bool plan_retry(Duration least);
  bool repeats_answer();
  bool repeats_after(std::error_code error);
  void back_off();
  void end_back_off();
  void attempt_again();
  // Of a body that is decoded: http_fetch_decode.cc
  void begin_decoding();
  bool show_decoded(std::string_view bytes);
  void show_pending();
  bool has_pending_body() const;
  bool all_decoded(bool clean);
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
  void set_phase_timer(Duration delay, void (HttpFetch::*then)());
  void call_soon(void (HttpFetch::*then)()) { start_phase_timer({}, then); }
  void start_phase_timer(Duration delay, void (HttpFetch::*then)());
  void cancel_timers();
  void continue_timed_out();
  void queue_timed_out();
  void first_byte_timed_out() { give_up(make_error_code(HttpTrouble::kFirstByteTimeout)); }
  void attempt_timed_out() { give_up(make_error_code(HttpTrouble::kAttemptTimeout)); }
  void total_timed_out() { give_up(make_error_code(HttpTrouble::kTotalTimeout)); }
  void report_failure() { give_up(failure_); }
  HttpResponseParser& parser() const;

  const std::weak_ptr<detail::HttpPool> pool_;  // lives while this is not over
  const HttpFetchId id_;
  // As the pool's options have them.
  HttpCookieJar* const cookies_;
  const bool decodes_;
  const bool has_proxies_;  // some
  HttpClientRequest request_;
  HttpUrl url_;
  const std::unique_ptr<HttpFetchCallbacks> callbacks_;
  HttpDeadlines deadlines_;
  std::string request_text_;  // the head
  detail::HttpLink* link_ = nullptr;
  std::string head_text_;  // of the answer, as far as it is there
  HttpResponseHead head_;
  std::unique_ptr<detail::HttpRetrying> retrying_;  // if it may be repeated
  std::unique_ptr<detail::HttpDecoding> decoding_;  // of the answer's body, if that is to be decoded
  Buffer early_;                                    // written before the connection wants it
  std::string last_chunk_{kHttpLastChunk};
  uint64_t body_sent_ = 0;             // of request_.body, or taken by write()
  uint64_t discarded_bytes_ = 0;       // of the body of a redirect
  size_t gathered_ = 0;                // as the connection was told
  TimePoint first_byte_due_ = kNever;  // from the request's end on
  TimerId phase_timer_;
  TimerId total_timer_;
  std::error_code failure_;  // while kFailing
  unsigned redirects_ = 0;
  State state_ = State::kWaiting;
  bool repeated_ = false;
  bool says_close_ = false;
  bool expects_continue_ = false;
  bool awaits_continue_ = false;
  bool body_wanted_ = false;   // by the connection
  bool body_ended_ = false;    // end_body() was called
  bool body_stopped_ = false;  // what is left of it is not wanted
  bool request_complete_ = false;
  bool answer_begun_ = false;  // the final one, for all that is known
  bool wants_writable_ = false;
  bool paused_ = false;
};

struct HttpFetchCallbacks {
  // Each interim answer before the final one (RFC 9110 15.2), 100 among them and never 101: for proxies, which pass
  // them on, and for 103 (RFC 8297). At most HttpResponseLimits::head_bytes of them, the final head included.
  Callback<void(HttpFetch&, const HttpResponseHead& head)> on_interim = nullptr;
  // The final head, of a 101 too; neither of interim answers nor of redirects that are followed.
  Callback<void(HttpFetch&, const HttpResponseHead& head)> on_head = nullptr;
  // A piece of the body, chunk framing taken off, and unpacked where that was asked for; of a tunnel, whatever came.
  Callback<void(HttpFetch&, std::string_view bytes)> on_body = nullptr;
  // write() answered false, and may be called again. It comes too when the body is not wanted any more.
  Callback<void(HttpFetch&)> on_writable = nullptr;
  // Behind a chunked body, before on_done: the fields of its trailers (RFC 9110 6.5, RFC 9112 7.1.2), each line with
  // its CR LF, for next_http_field(); good during the call. At most HttpResponseLimits::head_bytes in all. Not where
  // there are none. They are the server's claims and to be kept apart from the head's fields. Servers send them rather
  // to who asked for it with `TE: trailers` and `Connection: TE` (RFC 9110 10.1.4).
  Callback<void(HttpFetch&, std::string_view lines)> on_trailers = nullptr;
  // With HttpTrouble, an errno or a Trouble where the answer is not complete. A tunnel ends so too.
  Callback<void(Result<void>)> on_done = nullptr;
};

}  // namespace peal
