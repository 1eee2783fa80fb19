// SPDX-License-Identifier: BSD-3-Clause
// WebSocket: one side of a WebSocket conversation (RFC 6455), on a server or a client. WebSocketEndpoint, a route of a
// server, and WebSocketClient create WebSockets and pass them to the application's WebSocketCallbacks.
//
// A WebSocket belongs to its connection's loop and is used on that loop's thread only. A WebSocket& is valid from
// on_open until on_close returns. Other threads, and code that cannot know whether on_close has been called, use a
// WebSocketHandle, which handle() returns.
//
// A WebSocket ends in one of these ways:
// - The application calls close(), or idle_timeout or a draining server does. The Close frame is sent after all queued
//   output. Messages that the peer sends after that are dropped. The connection is closed when the peer's Close frame
//   arrives or close_timeout has passed.
// - The peer sends a Close frame. The frame is answered with the same code, and the connection is closed.
// - The peer breaks the protocol. It is sent a Close frame with the code of close_code_of(), and the connection is
//   closed.
// - The peer is silent for ping_interval and does not answer the ping that is then sent. The connection is reset.
// - The connection ends without a Close frame.
//
// on_close is the last callback and is called once for each on_open. Its code is the first of these that applies:
// - the code of the peer's Close frame, or kNoCode if that frame had no code;
// - the code of the Close frame that was sent because the peer broke the protocol or memory ran short;
// - kAbnormal, with a phrase that says why the connection ended.
//
// on_close is not called if the HttpServer or WebSocketClient itself is destroyed while the WebSocket is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/memory/memory_charge.h>
#include <peal/net/connection.h>
#include <peal/wire/websocket/websocket_reader.h>

namespace peal {

class WebSocket;
class WebSocketHandle;
namespace detail {
class WebSocketCarrier;
class WebSocketCore;
class WebSocketDriver;
struct WebSocketLoopState;
struct WebSocketReach;
}  // namespace detail

// The type of a message. The text of a kText message is UTF-8.
enum class WebSocketKind : uint8_t { kText, kBinary };

struct WebSocketOptions {
  // The largest message that the peer may send, after decompression. A larger message ends the connection with
  // kTooLarge. The allowed values are 1 to kMostWebSocketMessageBytes.
  //
  // The part of an incomplete message that has arrived counts in the memory budget if it is larger than 4 KiB. If the
  // part grows while the process holds more memory than MemoryBudget's hard mark, the connection ends with
  // kTryAgainLater.
  size_t message_limit_bytes = 1024 * 1024;

  // A peer that has sent nothing for this long is sent a ping. The ping is sent at the latest when the peer has sent
  // nothing for twice this time. 0 turns pings off. Home routers forget a silent connection after about a minute, so
  // the default is shorter.
  Duration ping_interval = std::chrono::seconds(25);

  // The connection is reset if no bytes arrive for this long after a ping. A socket that is paused by pause() is never
  // reset for this reason. If reading has stopped because output is above the high-water mark, the peer also counts as
  // alive while it takes output.
  Duration pong_timeout = std::chrono::seconds(15);

  // The socket is closed with kGoingAway if no message was sent or received for this long. Pings and pongs are not
  // messages. 0 means no limit.
  Duration idle_timeout = {};

  // How long the peer may take to answer the Close frame that close() sent. The time starts anew while the peer
  // acknowledges output. When the time has passed, the connection is closed without the peer's Close frame.
  //
  // A client also waits this long after a server's Close frame for the server to close the connection, and then resets
  // the connection.
  Duration close_timeout = std::chrono::seconds(5);

  // Compression (permessage-deflate, RFC 7692). Off by default.
  WebSocketDeflateOptions deflate = {};
};

// A message for many sockets of a server. The message is framed once, and compressed at most once; all connections send
// the same bytes in memory. On a client's socket the message is framed anew, because each frame needs its own mask.
// Cheap to copy. May be used on any thread.
class WebSocketBroadcast {
 public:
  // Frames a copy of `message`. If `deflate` is enabled, also keeps a compressed form, unless the message is empty, is
  // shorter than least_bytes, is longer than WebSocketDeflater::kMostBytes or does not become smaller. The compressed
  // form is sent on connections that agreed on compression without context takeover and with a window that is large
  // enough. All other connections send the plain form.
  //
  // Throws std::invalid_argument if the message has to be compressed, and window_bits is not 9 to 15 or level is above
  // 9. Level 0 does not throw, but makes no message smaller.
  WebSocketBroadcast(WebSocketKind kind, std::string_view message, const WebSocketDeflateOptions& deflate = {});

 private:
  friend class WebSocket;
  // Returns the message without the head of its frame.
  std::string_view message() const;

  SharedBytes plain_;       // the frame of the uncompressed message
  SharedBytes compressed_;  // the frame of the compressed message; null if there is none
  WebSocketKind kind_;
  uint8_t head_bytes_;       // the size of the head in plain_
  uint8_t window_bits_ = 0;  // the window that compressed_ was made with
};

class WebSocket final {
 public:
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;
  ~WebSocket();

  // send(), send_text() and send_binary() send a complete message. They return true while the connection's queued
  // output is below its high-water mark. After false, wait for on_writable before sending more. If is_open() is false,
  // the message is dropped and the result is false. They assert that no fragmented message is in progress.
  //
  // Text must be UTF-8, which is not checked here: the peer closes with kBadData if it is not.
  bool send_text(std::string_view message) { return send(WebSocketKind::kText, message); }
  bool send_binary(std::string_view message) { return send(WebSocketKind::kBinary, message); }
  bool send(WebSocketKind kind, std::string_view message);
  bool send(const WebSocketBroadcast& message);

  // begin_message(), write() and end_message() send a message whose length is not known in advance. Each write() and
  // the end_message() sends one fragment (RFC 6455 5.4), uncompressed. The results of write() and end_message() mean
  // what send()'s result means. Between begin_message() and end_message(), no other message may be sent or begun;
  // otherwise an assertion fails. ping() and close() are allowed.
  void begin_message(WebSocketKind kind);
  bool write(std::string_view fragment) { return send_fragment(fragment, false); }
  bool end_message(std::string_view last_fragment = {}) { return send_fragment(last_fragment, true); }

  // Sends a ping; the peer's answer is passed to on_pong. The result means what send()'s result means. Throws
  // std::invalid_argument if the payload has more than 125 bytes. WebSocket also sends pings by itself; see
  // WebSocketOptions::ping_interval.
  bool ping(std::string_view payload = {});

  // Sends a Close frame after all queued output, resumes a paused socket and waits for the peer's Close frame. Does
  // nothing if is_open() is false. At most 123 bytes of `reason` are sent, and none if it is not UTF-8.
  //
  // The code and the reason of another socket's on_close may be passed on unchanged: websocket_close_payload() replaces
  // codes that a frame must not contain.
  void close(uint16_t code = WebSocketCode::kNormal, std::string_view reason = {});

  // Resets the connection without a Close frame and discards queued output. on_close gets kAbnormal, unless a Close
  // frame or a fault of the peer has already decided the code.
  void abort();

  // Stops reading: on_message is not called until resume(), and TCP's flow control makes the peer stop sending. Does
  // nothing if is_open() is false.
  void pause();
  void resume();

  // Returns a handle to this socket, which may be used on any thread and kept for any time.
  WebSocketHandle handle();

  // True until a Close frame is sent or received, or the connection ends.
  bool is_open() const { return state_ == State::kOpen; }

  WebSocketRole role() const { return role_; }

  // Returns the subprotocol that the handshake agreed on. Empty if there is none.
  const std::string& protocol() const { return protocol_; }

  // True if the handshake agreed on compression (permessage-deflate).
  bool is_deflated() const { return deflate_.has_value(); }

  Loop& loop() const;

  // Returns the connection below the socket, for its addresses, counters and limits. The application must not send,
  // read or close through it, because that would break the protocol.
  Connection& connection() const;

  // Returns how many bytes of output are queued and have not been sent.
  size_t queued_bytes() const;

  // Creates an object of type T for the application, and returns it. The socket owns the object and destroys it after
  // on_close, or when emplace_context() is called again.
  template <class T, class... Args>
  T& emplace_context(Args&&... args) {
    context_ = {new T(std::forward<Args>(args)...), &destroy_context<T>};
    return *static_cast<T*>(context_.get());
  }

  // Returns the object that emplace_context<T>() created. Asserts that it was created with the same T.
  template <class T>
  T& context() const {
    PEAL_ASSERT(context_.get_deleter() == &destroy_context<T>,
                "context<T>() is called with another type than emplace_context<T>()");
    return *static_cast<T*>(context_.get());
  }

 private:
  friend class detail::WebSocketDriver;
  enum class State : uint8_t {
    kOpen,
    kClosing,  // this side has sent its Close frame, and the peer's has not arrived
    kDone,     // no more frames are sent or expected; only the connection has to end
  };
  template <class T>
  static void destroy_context(void* context) {
    delete static_cast<T*>(context);
  }
  static void no_context(void*) {}

  WebSocket(std::shared_ptr<detail::WebSocketCore> core, detail::WebSocketCarrier& carrier, WebSocketRole role,
            std::string protocol, const std::optional<WebSocketDeflateTerms>& deflate);
  // opened(), received(), writable(), peer_ended(), drained() and closed() handle the events of the carrier.
  // WebSocketDriver calls them.
  void opened();
  void received(Buffer& input);
  void writable();
  void peer_ended();
  void drained() { close(WebSocketCode::kGoingAway, "the server goes away"); }
  void closed(CloseReason reason);

  bool charge_gathered();
  void handle_event();
  void answer_ping(std::string_view payload);
  void handle_close_frame(std::string_view payload);
  void close_with_error(WebSocketFault fault);
  void close_with_error(uint16_t code, std::string_view reason);
  bool send_frame(WebSocketHead head, std::string_view payload);
  bool send_fragment(std::string_view fragment, bool last);
  WebSocketDeflater* deflater_for(size_t message_bytes);
  void send_control(WebSocketOpcode opcode, std::string_view payload);
  void note_message();

  // The functions from check_deadlines() to peer_progress_bytes() check and start the deadlines of WebSocketOptions.
  // They are in websocket_deadlines.cc.
  void check_deadlines();
  void arm_timer(TimePoint due);
  void start_close_deadline();
  bool ping_if_silent(TimePoint now);
  void note_pong();
  uint64_t peer_progress_bytes() const;

  const std::shared_ptr<detail::WebSocketCore> core_;
  detail::WebSocketLoopState& loop_state_;
  detail::WebSocketCarrier& carrier_;
  std::shared_ptr<detail::WebSocketReach> reach_;  // created by the first handle()
  WebSocketReader reader_;
  MemoryCharge gathered_;                            // for the incomplete message in reader_
  std::unique_ptr<WebSocketDeflater> own_deflater_;  // created if messages are compressed with context takeover
  std::unique_ptr<std::string> owed_pong_;  // payload of the last ping that is not answered yet; see answer_ping()
  std::unique_ptr<void, void (*)(void*)> context_{nullptr, &no_context};
  const std::string protocol_;
  std::string reason_;
  const std::optional<WebSocketDeflateTerms> deflate_;
  TimerId timer_;
  TimePoint ping_due_{};      // when to check next whether the peer is silent
  TimePoint last_message_{};  // when a message was last sent or received; kept only if idle_timeout is set
  // While the socket is open: peer_progress_bytes() at the last check of the deadlines. After a Close frame was sent or
  // received: undelivered_bytes() of the carrier at the last check.
  uint64_t last_seen_bytes_ = 0;
  const WebSocketRole role_;
  uint16_t code_ = WebSocketCode::kAbnormal;
  State state_ = State::kOpen;
  WebSocketOpcode next_fragment_ = WebSocketOpcode::kText;
  bool in_message_ = false;  // true between begin_message() and end_message()
  bool paused_ = false;
  bool blocked_ = false;      // true while output is above the high-water mark
  bool pinged_ = false;       // true if nothing has arrived since the last automatic ping
  bool closed_here_ = false;  // true if close() was called while the socket was open
  bool cut_off_ = false;      // true if the connection was reset because the peer missed a deadline
};

// The callbacks that all sockets of an endpoint or a client share. Each may be left unset. Each is called on the
// socket's loop. With several loops a callback may run on several threads at once, so it must not be a `mutable`
// lambda. An exception that leaves a callback is logged and counted, and ends the connection.
struct WebSocketCallbacks {
  // Called after the handshake. The socket may send from here on.
  SharedCallback<void(WebSocket&)> on_open = nullptr;

  // Called with each complete message. Text is valid UTF-8. The view is valid during the call only.
  SharedCallback<void(WebSocket&, WebSocketKind, std::string_view message)> on_message = nullptr;

  // Called after a send returned false, when the queued output has decreased to half of the high-water mark.
  SharedCallback<void(WebSocket&)> on_writable = nullptr;

  // Called with each pong of the peer. The pong may answer ping() or a ping that ping_interval has caused.
  SharedCallback<void(WebSocket&, std::string_view payload)> on_pong = nullptr;

  // Called last. The head of this file says which code is passed: that of the peer's Close frame, that of a fault, or
  // kAbnormal. The socket is destroyed after the call.
  SharedCallback<void(WebSocket&, uint16_t code, std::string_view reason)> on_close = nullptr;
};

// A safe reference to a WebSocket. Small, copyable and comparable; handles of one socket are equal. All functions may
// be called on any thread, also after the socket has ended; they then do nothing.
//
// On the socket's loop a call acts at once. From any other thread it is posted to the loop; the calls of one thread
// keep their order. Each function returns true if the call was accepted, and an accepted call may still arrive after
// the end of the socket. It returns false if the loop has ended or its mailbox is full (LoopOptions::post_limit), or,
// on the socket's loop, if the connection has ended. Refused calls from other threads are counted in
// NetStats::lost_calls.
class WebSocketHandle {
 public:
  WebSocketHandle() = default;

  // True if the handle names a socket, which may have ended since.
  explicit operator bool() const { return reach_ != nullptr; }
  bool operator==(const WebSocketHandle&) const = default;

  // send_text(), send_binary(), send() and close() do what WebSocket's functions of the same names do. If the call is
  // refused, the connection is reset with CloseReason::kSendRefused, so that no message is ever missing in the middle.
  bool send_text(std::string message) const { return send(WebSocketKind::kText, std::move(message)); }
  bool send_binary(std::string message) const { return send(WebSocketKind::kBinary, std::move(message)); }
  bool send(const WebSocketBroadcast& message) const;
  bool close(uint16_t code = WebSocketCode::kNormal, std::string reason = {}) const;

  // Resets the connection as WebSocket::abort() does, even if the loop's mailbox is full.
  bool abort() const;

  // Calls `task` with the socket on the socket's loop. If the socket has ended before that, `task` is destroyed without
  // being called.
  bool run(Callback<void(WebSocket&)> task) const;

 private:
  friend class WebSocket;
  explicit WebSocketHandle(std::shared_ptr<detail::WebSocketReach> reach) : reach_(std::move(reach)) {}
  bool send(WebSocketKind kind, std::string message) const;
  template <class Act>
  bool run_or_end(Act&& act) const;

  std::shared_ptr<detail::WebSocketReach> reach_;
};

}  // namespace peal
