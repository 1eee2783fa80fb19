// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/websocket/websocket.h>

#include <algorithm>

#include <peal/base/bad_value.h>
#include <peal/http/websocket/parts/websocket_shared.h>
#include <peal/loop/loop.h>

namespace peal {
namespace {

constexpr WebSocketOpcode opcode_of(WebSocketKind kind) {
  return kind == WebSocketKind::kText ? WebSocketOpcode::kText : WebSocketOpcode::kBinary;
}

}  // namespace

WebSocketBroadcast::WebSocketBroadcast(WebSocketKind kind, std::string_view message,
                                       const WebSocketDeflateOptions& deflate)
    : kind_(kind) {
  WebSocketHead head{.opcode = opcode_of(kind), .payload_bytes = message.size()};
  std::string frame(kWebSocketHeadBytes, '\0');
  head_bytes_ = static_cast<uint8_t>(write_websocket_head(frame.data(), head));
  frame.resize(head_bytes_);
  plain_ = share_bytes(frame.append(message));
  if (!deflate.enabled || message.size() < std::max<size_t>(deflate.least_bytes, 1)) return;
  if (message.size() > WebSocketDeflater::kMostBytes) return;
  WebSocketDeflater deflater(deflate.window_bits, false, deflate);
  const std::string_view small = deflater.deflate(message);
  if (small.size() >= message.size()) return;
  head.compressed = true;
  head.payload_bytes = small.size();
  frame.assign(kWebSocketHeadBytes, '\0');
  frame.resize(write_websocket_head(frame.data(), head));
  compressed_ = share_bytes(frame.append(small));
  window_bits_ = deflate.window_bits;
}

std::string_view WebSocketBroadcast::message() const {
  const std::string_view frame(reinterpret_cast<const char*>(plain_->data()), plain_->size());
  return frame.substr(head_bytes_);
}

WebSocket::WebSocket(std::shared_ptr<detail::WebSocketCore> core, detail::WebSocketCarrier& carrier, WebSocketRole role,
                     std::string protocol, const std::optional<WebSocketDeflateTerms>& deflate)
    : core_(std::move(core)),
      loop_state_(core_->loop_state(carrier.loop())),
      carrier_(carrier),
      reader_(role, core_->options.message_limit_bytes, loop_state_.workspace, deflate),
      protocol_(std::move(protocol)),
      deflate_(deflate),
      role_(role) {}

WebSocket::~WebSocket() {
  loop().cancel(timer_);
  if (reach_) reach_->socket = nullptr;
}

Loop& WebSocket::loop() const { return carrier_.loop(); }
Connection& WebSocket::connection() const { return carrier_.connection(); }
size_t WebSocket::queued_bytes() const { return carrier_.queued_bytes(); }
void WebSocket::abort() { carrier_.abort(); }

void WebSocket::opened() {
  const WebSocketOptions& options = core_->options;
  const TimePoint now = loop().now();
  last_message_ = now;
  last_seen_bytes_ = peer_progress_bytes();
  ping_due_ = options.ping_interval > Duration::zero() ? later(now, options.ping_interval) : kNever;
  arm_timer(ping_due_);
  if (core_->callbacks.on_open) core_->callbacks.on_open(*this);
}

void WebSocket::received(Buffer& input) {
  // The reader is given one block of the buffer at a time. A message that lies completely in one block need not be
  // copied into the reader.
  while (!input.empty() && !paused_ && carrier_.is_open()) {
    const size_t used = reader_.step(input.front());
    if (reader_.fault() != WebSocketFault::kNone) {
      close_with_error(reader_.fault());
    } else {
      handle_event();
    }
    input.consume(used);
  }
  loop_state_.workspace.trim();
  if (charge_gathered()) return;
  reader_.stop();
  charge_gathered();
  close_with_error(WebSocketCode::kTryAgainLater, "the process holds too much memory");
}

// Reports the size of the incomplete message in reader_ to the memory budget and to the carrier. Returns false if that
// message has grown and the process is above its hard mark; the caller then has to drop the message.
bool WebSocket::charge_gathered() {
  const size_t before = gathered_.bytes();
  const bool may = gathered_.set_and_check(reader_.held_bytes());
  if (gathered_.bytes() != before) carrier_.count_gathered(gathered_.bytes());
  return may;
}

void WebSocket::handle_event() {
  WebSocketCallbacks& callbacks = core_->callbacks;
  const std::string_view payload = reader_.payload();
  switch (reader_.event()) {
    case WebSocketEvent::kNone: return;
    case WebSocketEvent::kText:
    case WebSocketEvent::kBinary:
      if (!is_open()) return;
      note_message();
      if (callbacks.on_message) {
        const bool is_text = reader_.event() == WebSocketEvent::kText;
        callbacks.on_message(*this, is_text ? WebSocketKind::kText : WebSocketKind::kBinary, payload);
      }
      return;
    case WebSocketEvent::kPing:
      if (is_open()) answer_ping(payload);
      return;
    case WebSocketEvent::kPong:
      if (is_open() && pinged_) note_pong();
      if (is_open() && callbacks.on_pong) callbacks.on_pong(*this, payload);
      return;
    case WebSocketEvent::kClose: return handle_close_frame(payload);
  }
}

// Answers a ping. While output is above the high-water mark, stores the ping instead, and writable() answers the last
// stored ping (RFC 6455 5.5.3). Otherwise a peer that sends pings and reads nothing could make the output queue grow.
void WebSocket::answer_ping(std::string_view payload) {
  if (!blocked_) return send_control(WebSocketOpcode::kPong, payload);
  owed_pong_ = std::make_unique<std::string>(payload);
}

// Handles the peer's Close frame, whose payload the reader has checked. If this side has not sent a Close frame yet,
// answers with the same code (RFC 6455 5.5.1). Then ends the connection or waits for the server to end it.
void WebSocket::handle_close_frame(std::string_view payload) {
  const WebSocketClose close = *read_websocket_close(payload);
  code_ = close.code;
  reason_ = close.reason;
  if (is_open()) send_control(WebSocketOpcode::kClose, payload.substr(0, 2));
  state_ = State::kDone;
  // The server closes the connection first, so that TIME_WAIT does not occupy the client's port (RFC 6455 7.1.1).
  if (role_ == WebSocketRole::kServer) return carrier_.close();
  start_close_deadline();
}

// Sends a Close frame, if none was sent yet, and closes the connection without waiting for the peer's Close frame.
void WebSocket::close_with_error(WebSocketFault fault) { close_with_error(close_code_of(fault), to_string(fault)); }

void WebSocket::close_with_error(uint16_t code, std::string_view reason) {
  code_ = code;
  reason_ = reason;
  if (is_open()) send_control(WebSocketOpcode::kClose, websocket_close_payload(code_, reason_));
  state_ = State::kDone;
  carrier_.close();
}

void WebSocket::writable() {
  blocked_ = false;
  if (const auto owed = std::move(owed_pong_); owed != nullptr && is_open())
    send_control(WebSocketOpcode::kPong, *owed);
  if (is_open() && core_->callbacks.on_writable) core_->callbacks.on_writable(*this);
}

// Handles the FIN of the peer. If this side has not called close(), the peer ended the connection. The connection then
// ends with CloseReason::kPeerClosed instead of kLocal, and a client may reconnect.
void WebSocket::peer_ended() {
  if (closed_here_) return carrier_.close();
  carrier_.shutdown_send();
}

void WebSocket::closed(CloseReason reason) {
  loop().cancel(std::exchange(timer_, {}));
  state_ = State::kDone;
  if (code_ == WebSocketCode::kAbnormal && reason_.empty()) reason_ = to_string(reason);
  if (core_->callbacks.on_close) core_->callbacks.on_close(*this, code_, reason_);
}

void WebSocket::note_message() {
  if (core_->options.idle_timeout > Duration::zero()) last_message_ = loop().now();
}

bool WebSocket::send_frame(WebSocketHead head, std::string_view payload) {
  head.masked = role_ == WebSocketRole::kClient;
  bool below = false;
  if (head.masked) {
    head.key = loop_state_.keys.next();
    Buffer frame;
    append_websocket_frame(frame, head, payload);
    below = carrier_.send(std::move(frame));
  } else {
    char bytes[kWebSocketHeadBytes];
    head.payload_bytes = payload.size();
    below = carrier_.send(std::string_view(bytes, write_websocket_head(bytes, head)));
    if (!payload.empty()) below = carrier_.send(payload);
  }
  if (!below) blocked_ = true;
  return below;
}

void WebSocket::send_control(WebSocketOpcode opcode, std::string_view payload) {
  send_frame({.opcode = opcode}, payload);
}

// Returns the compressor for a message of this size. Returns null if the message is sent uncompressed:
//   - if the handshake did not agree on compression, or agreed on a window of 8 bits, which zlib cannot use, or
//   - if the message is shorter than least_bytes or longer than WebSocketDeflater::kMostBytes.
WebSocketDeflater* WebSocket::deflater_for(size_t message_bytes) {
  const WebSocketDeflateOptions& options = core_->options.deflate;
  if (!deflate_ || message_bytes < options.least_bytes || message_bytes > WebSocketDeflater::kMostBytes) return nullptr;
  const bool serves = role_ == WebSocketRole::kServer;
  const uint8_t agreed = serves ? deflate_->server_max_window_bits : deflate_->client_max_window_bits;
  const uint8_t bits = std::min(agreed, options.window_bits);
  if (!WebSocketDeflater::can(bits)) return nullptr;
  if (serves ? deflate_->server_no_context_takeover : deflate_->client_no_context_takeover) {
    auto& deflater = loop_state_.deflaters[bits];
    if (deflater == nullptr) deflater = std::make_unique<WebSocketDeflater>(bits, false, options);
    return deflater.get();
  }
  if (own_deflater_ == nullptr) own_deflater_ = std::make_unique<WebSocketDeflater>(bits, true, options);
  return own_deflater_.get();
}

bool WebSocket::send(WebSocketKind kind, std::string_view message) {
  if (!is_open()) return false;
  PEAL_ASSERT(!in_message_, "a message of {} bytes is sent before end_message() of the last message", message.size());
  note_message();
  WebSocketDeflater* const deflater = deflater_for(message.size());
  if (deflater == nullptr) return send_frame({.opcode = opcode_of(kind)}, message);
  const std::string_view small = deflater->deflate(message);
  // With context takeover, later messages may refer to this message. So the peer has to receive the compressed form,
  // even if that form is larger.
  const bool compressed = deflater == own_deflater_.get() || small.size() < message.size();
  const bool below = send_frame({.opcode = opcode_of(kind), .compressed = compressed}, compressed ? small : message);
  deflater->trim();
  return below;
}

bool WebSocket::send(const WebSocketBroadcast& message) {
  if (!is_open()) return false;
  if (role_ == WebSocketRole::kClient) return send(message.kind_, message.message());
  PEAL_ASSERT(!in_message_, "a message of {} bytes is sent before end_message() of the last message",
              message.message().size());
  note_message();
  const bool inflates = message.compressed_ != nullptr && deflate_ && deflate_->server_no_context_takeover &&
                        deflate_->server_max_window_bits >= message.window_bits_;
  const bool below = carrier_.send(inflates ? message.compressed_ : message.plain_);
  if (!below) blocked_ = true;
  return below;
}

void WebSocket::begin_message(WebSocketKind kind) {
  PEAL_ASSERT(!in_message_, "begin_message() is called before end_message() of the last message; {} bytes are queued",
              queued_bytes());
  in_message_ = true;
  next_fragment_ = opcode_of(kind);
}

bool WebSocket::send_fragment(std::string_view fragment, bool last) {
  PEAL_ASSERT(in_message_, "a fragment of {} bytes is sent without begin_message()", fragment.size());
  if (last) in_message_ = false;
  if (!is_open()) return false;
  note_message();
  return send_frame({.opcode = std::exchange(next_fragment_, WebSocketOpcode::kContinuation), .fin = last}, fragment);
}

bool WebSocket::ping(std::string_view payload) {
  if (payload.size() > kWebSocketControlBytes)
    throw_bad_value("a ping of {} bytes, which is more than 125", payload.size());
  return is_open() && send_frame({.opcode = WebSocketOpcode::kPing}, payload);
}

void WebSocket::close(uint16_t code, std::string_view reason) {
  if (!is_open()) return;
  send_control(WebSocketOpcode::kClose, websocket_close_payload(code, reason));
  state_ = State::kClosing;
  closed_here_ = true;
  resume();  // otherwise the peer's Close frame would not be read
  start_close_deadline();
}

void WebSocket::pause() {
  if (!is_open()) return;
  paused_ = true;
  carrier_.pause();
}

void WebSocket::resume() {
  paused_ = false;
  carrier_.resume();
}

WebSocketHandle WebSocket::handle() {
  if (!reach_)
    reach_ = std::make_shared<detail::WebSocketReach>(connection().handle(), carrier_.owns_connection(), this);
  return WebSocketHandle(reach_);
}

bool WebSocketHandle::run(Callback<void(WebSocket&)> task) const {
  return reach_ != nullptr && reach_->connection.run([reach = reach_, task = std::move(task)](Connection&) mutable {
    if (reach->socket != nullptr) task(*reach->socket);
  });
}

template <class Act>
bool WebSocketHandle::run_or_end(Act&& act) const {
  return reach_ != nullptr &&
         reach_->connection.run_or_end([reach = reach_, act = std::forward<Act>(act)](Connection&) {
           if (reach->socket != nullptr) act(*reach->socket);
         });
}

bool WebSocketHandle::send(WebSocketKind kind, std::string message) const {
  return run_or_end([kind, message = std::move(message)](WebSocket& socket) { socket.send(kind, message); });
}

bool WebSocketHandle::send(const WebSocketBroadcast& message) const {
  return run_or_end([message](WebSocket& socket) { socket.send(message); });
}

bool WebSocketHandle::close(uint16_t code, std::string reason) const {
  return run_or_end([code, reason = std::move(reason)](WebSocket& socket) { socket.close(code, reason); });
}

bool WebSocketHandle::abort() const {
  if (reach_ != nullptr && reach_->owns_connection) return reach_->connection.abort();
  return run_or_end([](WebSocket& socket) { socket.abort(); });
}

}  // namespace peal
