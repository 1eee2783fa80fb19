// SPDX-License-Identifier: BSD-3-Clause
// How a fetch sends its request: first the head, then the body in pieces, as fast as the connection takes them.
#include <algorithm>
#include <array>

#include <peal/base/clock.h>
#include <peal/base/log.h>
#include <peal/http/client/http_cookie_jar.h>
#include <peal/http/client/http_fetch.h>
#include <peal/http/client/parts/http_answer_text.h>
#include <peal/http/client/parts/http_decoding.h>
#include <peal/http/client/parts/http_link.h>
#include <peal/http/client/parts/http_pool.h>
#include <peal/http/client/parts/http_proxy_rules.h>
#include <peal/wire/http/http_chunk_writer.h>
#include <peal/wire/http/http_request_text.h>

namespace peal {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;  // the pieces in which HttpClientRequest::body is sent

Buffer chunk_of(Buffer&& bytes) {
  std::array<char, kMostHttpChunkHeadBytes> head;
  const size_t size = write_http_chunk_head(head, bytes.size());
  Buffer chunk(std::string_view(head.data(), size));
  chunk.append(std::move(bytes));
  chunk.append(kHttpChunkEnd);
  return chunk;
}

}  // namespace

const detail::HttpProxy* HttpFetch::proxy() const {
  if (!has_proxies_ || !request_.connect_to.empty()) return nullptr;
  return pool_.lock()->proxies()->find(url_);
}

detail::HttpWay HttpFetch::way() const {
  if (!request_.connect_to.empty()) return request_.connect_to;
  const detail::HttpProxy* const by = proxy();
  if (by != nullptr) return by->place;
  return HostPort(url_.host, url_.port);
}

std::string HttpFetch::connection_key() const {
  const std::string spoken = url_.scheme + "://";
  if (const detail::HttpProxy* by = proxy(); by != nullptr) {
    return spoken + url_.host_and_port() + (needs_tunnel() ? " through " : " by ") + by->place.to_string();
  }
  if (request_.connect_to.empty()) return spoken + url_.host_and_port();
  const bool layered = pool_.lock()->layer_of(url_) != nullptr;
  return spoken + (layered ? url_.host_and_port() : "") + " by " + request_.connect_to;
}

void HttpFetch::add_cookies(std::vector<HttpRequestField>& fields) const {
  if (cookies_ == nullptr) return;
  const auto is_one = [](const HttpRequestField& field) { return same_field_name(field.name, "Cookie"); };
  if (std::ranges::any_of(fields, is_one)) return;
  if (std::string value = cookies_->field_for(url_); !value.empty()) fields.push_back({"Cookie", std::move(value)});
}

// Adds Proxy-Authorization if the proxy gets the request itself. If the request goes through a tunnel, removes that
// field instead, because the server must not see the credentials for the proxy.
void HttpFetch::add_proxy_fields(std::vector<HttpRequestField>& fields) const {
  constexpr std::string_view kName = "Proxy-Authorization";
  const auto is_it = [&](const HttpRequestField& field) { return same_field_name(field.name, kName); };
  if (needs_tunnel()) {
    std::erase_if(fields, is_it);
  } else if (!proxy()->authorization.empty() && std::ranges::none_of(fields, is_it)) {
    fields.push_back({std::string(kName), proxy()->authorization});
  }
}

Result<void> HttpFetch::compose() {
  if (url_.is_https() && pool_.lock()->layer_of(url_) == nullptr) return fail(HttpTrouble::kNeedsLayer);
  HttpRequest text{.method = request_.method,
                   .target = request_.target.empty() ? url_.target : request_.target,
                   .host = url_.authority(),
                   .fields = request_.fields,
                   .body = {}};
  if (proxy() != nullptr) {
    if (!needs_tunnel() && request_.target.empty()) text.target = url_.to_string();
    add_proxy_fields(text.fields);
  }
  if (request_.streamed) {
    text.following_bytes = request_.streamed_bytes;
    text.chunked_follows = !request_.streamed_bytes.has_value();
  }
  if (!request_.body.empty()) text.following_bytes = request_.body.size();
  add_cookies(text.fields);
  if (decodes_) detail::add_accept_encoding(text.fields);
  if (expects_continue_ && has_body()) text.fields.push_back({"Expect", "100-continue"});
  auto composed = compose_http_request(text);
  if (!composed || (request_.streamed && !request_.body.empty())) {
    PEAL_LOG_DEBUG("a request to {} is not sent: {}", url_.to_string(),
                   composed ? "both a body and a streamed body are set" : composed.error());
    return fail(HttpTrouble::kBadRequest);
  }
  request_text_ = std::move(*composed);
  says_close_ = std::ranges::any_of(request_.fields, [](const HttpRequestField& field) {
    return same_field_name(field.name, "Connection") && detail::mentions_close(field.value);
  });
  return {};
}

void HttpFetch::start_on(detail::HttpLink& link) {
  link_ = &link;
  state_ = State::kAnswering;
  set_phase_timer({}, nullptr);
  request_complete_ = false;
  answer_begun_ = false;
  body_wanted_ = false;
  if (!body_ended_) body_stopped_ = false;
  if (!request_.streamed) body_sent_ = 0;
  head_text_.clear();
  parser().begin(request_.method == "HEAD");
  link.connection().send(request_text_);
  awaits_continue_ = expects_continue_ && has_body();
  if (!awaits_continue_) return begin_body();
  set_phase_timer(pool_.lock()->options().continue_timeout, &HttpFetch::send_held_body);
}

// Sends the body that was held back because of "Expect: 100-continue". Called in three cases: the server has answered
// 100, the server has sent a final head below 300, or continue_timeout has passed because the server may not know
// Expect.
void HttpFetch::send_held_body() {
  set_phase_timer({}, nullptr);
  awaits_continue_ = false;
  begin_body();
}

// Sends the body, or the part of a streamed body that was written before. Calls no callback of the user: on_writable is
// called later, when the kept bytes have been sent.
void HttpFetch::begin_body() {
  body_wanted_ = true;
  if (!request_.streamed) return send_body();
  if (!early_.empty()) send_piece(std::move(early_));
  if (body_ended_) return request_complete();
  if (wants_writable_) link_->connection().report_drained();
}

void HttpFetch::send_body() {
  while (body_sent_ < request_.body.size()) {
    const std::string_view piece = std::string_view(request_.body).substr(body_sent_, kPieceBytes);
    body_sent_ += piece.size();
    if (!link_->connection().send(piece)) return;
  }
  if (!request_complete_) request_complete();
}

void HttpFetch::request_complete() {
  if (request_.streamed && !request_.streamed_bytes) link_->connection().send(last_chunk_);
  request_complete_ = true;
  if (state_ == State::kFinishingRequest) {
    // The loop calls request_finished(), because on_done must not be called inside the user's end_body().
    return call_soon(&HttpFetch::request_finished);
  }
  const Duration patience = deadlines_.first_byte;
  first_byte_due_ = patience > Duration::zero() ? later(pool_.lock()->loop()->now(), patience) : kNever;
  if (!answer_begun_) await_first_byte();
}

void HttpFetch::writable() {
  if (state_ != State::kTunnel && (!body_wanted_ || body_stopped_)) return;
  if (state_ != State::kTunnel && !request_.streamed) return send_body();
  call_on_writable();
}

void HttpFetch::call_on_writable() {
  const auto keep = shared_from_this();
  if (std::exchange(wants_writable_, false) && callbacks_->on_writable) callbacks_->on_writable(*this);
}

bool HttpFetch::send_piece(Buffer&& bytes) {
  if (state_ == State::kTunnel || request_.streamed_bytes) return link_->connection().send(std::move(bytes));
  return link_->connection().send(chunk_of(std::move(bytes)));
}

bool HttpFetch::write(Buffer&& bytes) {
  Buffer mine = std::move(bytes);
  if (state_ == State::kOver || state_ == State::kFailing) return false;
  if (body_ended_ || body_stopped_) return true;
  if (mine.empty()) return !wants_writable_;
  if (state_ != State::kTunnel) {
    body_sent_ += mine.size();
    if (!request_.streamed || body_sent_ > request_.streamed_bytes.value_or(UINT64_MAX)) {
      refuse(make_error_code(HttpTrouble::kBadRequest));
      return false;
    }
    if (!body_wanted_) {
      early_.append(std::move(mine));
      wants_writable_ = true;
      const size_t limit = pool_.lock()->options().client.connection.output_limit_bytes;
      if (early_.held_bytes() > limit) refuse(make_error_code(HttpTrouble::kUploadTooFarBehind));
      return false;
    }
  }
  const bool below = send_piece(std::move(mine));
  wants_writable_ = !below;
  return below;
}

void HttpFetch::end_body() {
  if (state_ == State::kOver || state_ == State::kFailing || std::exchange(body_ended_, true)) return;
  if (state_ == State::kTunnel) return link_->connection().shutdown_send();
  if (body_stopped_) return;
  if (!request_.streamed || body_sent_ < request_.streamed_bytes.value_or(0)) {
    return refuse(make_error_code(HttpTrouble::kBadRequest));
  }
  if (body_wanted_) request_complete();
}

bool HttpFetch::end_body(std::span<const HttpField> trailers) {
  if (state_ == State::kOver || state_ == State::kFailing || body_ended_) return false;
  if (state_ == State::kTunnel || !request_.streamed || request_.streamed_bytes) return false;
  std::string last;
  if (!append_http_last_chunk(last, trailers)) return false;
  last_chunk_ = std::move(last);
  end_body();
  return true;
}

}  // namespace peal
