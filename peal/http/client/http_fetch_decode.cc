// SPDX-License-Identifier: BSD-3-Clause
// How a fetch shows a body in gzip or zstd. Each piece that arrives is decoded and shown in parts of at most 16 KiB.
// While the application has paused, the rest of the piece is kept and the connection receives nothing. If that rest is
// the last of the answer, the connection is given back to the pool, and the rest is shown from memory later.
#include <cerrno>
#include <utility>

#include <peal/http/client/http_fetch.h>
#include <peal/http/client/parts/http_decoding.h>
#include <peal/http/client/parts/http_link.h>
#include <peal/http/client/parts/http_pool.h>

namespace peal {

bool HttpFetch::has_pending_body() const { return decoding_ && decoding_->has_pending; }

void HttpFetch::begin_decoding() {
  decoding_ = detail::decoding_of(head_, request_.method, pool_.lock()->options().decoding);
  if (decoding_) head_ = detail::decoded_head(head_);
}

// Decodes `bytes` and passes the result to on_body. Returns false if the fetch has ended, or if some bytes could not be
// passed on because the fetch is paused.
bool HttpFetch::show_decoded(std::string_view bytes) {
  const Result<void> decoded = decoding_->decode(bytes, [this](std::string_view piece) {
    if (callbacks_->on_body) callbacks_->on_body(*this, piece);
    return state_ == State::kBody && !paused_;
  });
  if (state_ != State::kBody) return false;
  if (!decoded) {
    give_up(decoded.error());
    return false;
  }
  return !decoding_->has_pending;
}

// Passes the bytes that a pause held back to on_body. The loop calls this function, so no connection catches an
// exception of a callback. The request is therefore failed here, and the exception is passed on to the loop.
void HttpFetch::show_pending() {
  if (paused_ || state_ != State::kBody) return;
  const auto keep = shared_from_this();
  try {
    if (!show_decoded(std::exchange(decoding_->pending, {}))) return;
    if (!decoding_->ended) return link_->connection().resume();
    if (!decoding_->decoder.is_whole()) return give_up(make_error_code(HttpTrouble::kUndecodable));
    if (!decoding_->trailers.empty() && callbacks_->on_trailers) callbacks_->on_trailers(*this, decoding_->trailers);
  } catch (...) {
    give_up(errno_code(ECONNABORTED));
    throw;
  }
  if (state_ == State::kBody) done({});
}

// Called when the whole answer has arrived. Returns true if on_body has got all of it, so that the fetch can end.
bool HttpFetch::all_decoded(bool clean) {
  if (!decoding_->has_pending) {
    if (!decoding_->decoder.is_whole()) give_up(make_error_code(HttpTrouble::kUndecodable));
    return state_ == State::kBody;
  }
  decoding_->ended = true;
  decoding_->trailers = parser().trailers();
  body_ended_ = true;  // later write() calls for the request's body are dropped
  leave_link_in_order(clean);
  return false;
}

}  // namespace peal
