// SPDX-License-Identifier: BSD-3-Clause
// How a link opens a tunnel: it sends CONNECT, reads the proxy's answer, and starts the layer. Bytes after a 2xx answer
// are from the server and belong to the layer, since a 2xx to CONNECT has no body, whatever its fields say (RFC
// 9110 9.3.6). After any other answer the connection is closed; only the answer's status is used.
#include <cerrno>
#include <utility>

#include <peal/http/client/http_trouble.h>
#include <peal/http/client/parts/http_answer_text.h>
#include <peal/http/client/parts/http_link.h>
#include <peal/http/client/parts/http_pool.h>

namespace peal::detail {

void HttpLink::ask_for_tunnel() {
  const auto pool = pool_.lock();
  if (!pool) return;
  awaits_tunnel_ = true;
  parser_.begin();
  connection_->send(origin.tunnel_request);
  const Duration timeout = pool->options().client.connect_timeout;
  tunnel_timer_ = connection_->loop().after(timeout, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->connecting_) self->tunnel_failed(make_error_code(HttpTrouble::kConnectTimeout));
  });
}

void HttpLink::take_tunnel_answer(Buffer& input) {
  while (!input.empty()) {
    const std::string_view bytes = input.front();
    const size_t size = head_bytes(tunnel_answer_, bytes);
    const std::string_view piece = bytes.substr(0, size > 0 ? size : bytes.size());
    parser_.parse(piece);
    tunnel_answer_ += piece;
    input.consume(piece.size());
    if (parser_.error() != HttpParseError::kNone) return tunnel_failed(malformed_answer(parser_.error()));
    if (size == 0) continue;
    tunnel_answer_.clear();
    if (parser_.head_complete()) break;  // the head is the final answer's
  }
  if (!parser_.head_complete()) return;
  if (parser_.status() / 100 != 2) return tunnel_failed(proxy_refusal(parser_.status()));
  awaits_tunnel_ = false;
  tunnel_answer_ = {};
  parser_.trim();
  if (origin.layer == nullptr) {
    // The server has not got a request yet, so bytes after the proxy's 2xx cannot be the server's answer.
    if (!input.empty()) return tunnel_failed(errno_code(EPROTO));
    return ready();
  }
  if (!connection_->start_layer(origin.host)) tunnel_failed(make_error_code(HttpTrouble::kClosedEarly));
}

void HttpLink::tunnel_failed(std::error_code error) {
  const auto pool = pool_.lock();
  if (!pool) return;
  if (connection_ != nullptr) connection_->loop().cancel(std::exchange(tunnel_timer_, {}));
  pool->connect_failed(*this, error ? error : make_error_code(HttpTrouble::kClosedEarly));
}

}  // namespace peal::detail
