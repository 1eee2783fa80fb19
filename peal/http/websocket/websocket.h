// SPDX-License-Identifier: BSD-3-Clause
// WebSocket: one conversation in WebSocket (RFC 6455), on either side. WebSocketEndpoint (a server's route) and
// WebSocketClient make them.
//
// It belongs to its connection's loop. A WebSocket& is good from on_open to the end of on_close; other threads, and
// whoever does not hear of on_close, keep handle().
//
// How it ends. close() sends a Close frame behind what is queued, waits for the peer's (bounded by close_timeout), and
// closes the connection; what the peer says meanwhile is dropped. A Close frame of the peer's is answered. A peer that
// breaks the protocol is told so, with the code of close_code_of() its fault. A peer that stays silent is asked with a
// ping, and without an answer cut off. on_close comes once for each on_open, last, with the code of the peer's Close
// frame (kNoCode where that had none), else of what the peer did wrong, else kAbnormal and a phrase why.
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

enum class WebSocketKind : uint8_t { kText, kBinary };

struct WebSocketOptions {
  // A longer message, also one that inflates to more, ends with kTooLarge. A megabyte is a long text. What is gathered
  // of messages that are not whole, from 4 KiB on, the memory budget counts: above its hard mark a longer one ends with
  // kTryAgainLater.
  size_t message_limit_bytes = 1024 * 1024;
  // When nothing has come from the peer for this long, at most twice that, it is sent a ping. Shorter than the minute
  // after which home routers forget a silent connection. 0: never.
  Duration ping_interval = std::chrono::seconds(25);
  // Nothing has come for that long after the ping: the connection is cut off. Time in which nothing is read, by pause()
  // or because of backpressure, does not count unless the peer's side takes nothing either.
  Duration pong_timeout = std::chrono::seconds(15);
  // No message in either direction for that long: closed with kGoingAway. 0: only the application knows.
  Duration idle_timeout = {};
  // How long the peer may take to answer our Close frame, counted from when it last acknowledged something.
  Duration close_timeout = std::chrono::seconds(5);
  WebSocketDeflateOptions deflate = {};
};

// A message for many: framed, and where wanted compressed, once; each connection sends the same bytes. Cheap to copy;
// any thread.
class WebSocketBroadcast {
 public:
  // `deflate`: also compressed, for the connections that agreed on that without context takeover.
  WebSocketBroadcast(WebSocketKind kind, std::string_view message, const WebSocketDeflateOptions& deflate = {});

 private:
  friend class WebSocket;
  std::string_view message() const;

  SharedBytes plain_;
  SharedBytes compressed_;  // null: not
  WebSocketKind kind_;
  uint8_t head_bytes_;
  uint8_t window_bits_ = 0;  // of what is compressed
};

class WebSocket final {
 public:
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;
  ~WebSocket();

  // A whole message; text is the caller's word that it is UTF-8, or the peer closes with kBadData. True while below the
  // connection's high-water mark; after false, on_writable tells when to go on. Once it is closing it is dropped, and
  // the answer false.
  bool send_text(std::string_view message) { return send(WebSocketKind::kText, message); }
  bool send_binary(std::string_view message) { return send(WebSocketKind::kBinary, message); }
  bool send(WebSocketKind kind, std::string_view message);
  bool send(const WebSocketBroadcast& message);

  // A message of unknown length, in as many fragments (RFC 6455 5.4) as there are calls; never compressed. Until it
  // ends, no other message may be sent: asserts.
  void begin_message(WebSocketKind kind);
  bool write(std::string_view fragment) { return send_fragment(fragment, false); }
  bool end_message(std::string_view last_fragment = {}) { return send_fragment(last_fragment, true); }

  // At most 125 bytes, or std::invalid_argument; pings by themselves go out as the options say.
  bool ping(std::string_view payload = {});
  // What on_close said may be passed on as it is: a code that must not be sent becomes the nearest one that may, as
  // websocket_close_payload() has it. Of a reason in UTF-8 123 bytes go out, of another none.
  void close(uint16_t code = WebSocketCode::kNormal, std::string_view reason = {});
  // Ends with a reset; on_close says kAbnormal.
  void abort();
  // No message comes until resume(); the peer's sending comes to rest.
  void pause();
  void resume();

  WebSocketHandle handle();
  // Neither closed here nor there.
  bool is_open() const { return state_ == State::kOpen; }
  WebSocketRole role() const { return role_; }
  // The subprotocol agreed on; empty: none.
  const std::string& protocol() const { return protocol_; }
  bool is_deflated() const { return deflate_.has_value(); }
  Loop& loop() const;
  // For its addresses, counters and limits; whatever else it is used for breaks the protocol.
  Connection& connection() const;
  size_t queued_bytes() const;

  // One object of the user's own, made in place and destroyed after on_close. context() asserts that it is a T.
  template <class T, class... Args>
  T& emplace_context(Args&&... args) {
    context_ = {new T(std::forward<Args>(args)...), &destroy_context<T>};
    return *static_cast<T*>(context_.get());
  }
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
    kClosing,  // our Close frame is sent, the peer's has not come
    kDone,     // only the connection is still to end
  };
  template <class T>
  static void destroy_context(void* context) {
    delete static_cast<T*>(context);
  }
  static void no_context(void*) {}

  WebSocket(std::shared_ptr<detail::WebSocketCore> core, detail::WebSocketCarrier& carrier, WebSocketRole role,
            std::string protocol, const std::optional<WebSocketDeflateTerms>& deflate);
  // What the carrier tells.
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
  // Deadlines.
  void check_deadlines();
  void arm_timer(TimePoint due);
  void start_close_deadline();
  bool ping_if_silent(TimePoint now);
  void note_pong();
  uint64_t peer_progress_bytes() const;

  const std::shared_ptr<detail::WebSocketCore> core_;
  detail::WebSocketLoopState& loop_state_;
  detail::WebSocketCarrier& carrier_;
  std::shared_ptr<detail::WebSocketReach> reach_;  // from the first handle() on
  WebSocketReader reader_;
  MemoryCharge gathered_;                            // for what the reader holds
  std::unique_ptr<WebSocketDeflater> own_deflater_;  // that keeps its context
  std::unique_ptr<std::string> owed_pong_;           // for a ping that came above the high-water mark
  std::unique_ptr<void, void (*)(void*)> context_{nullptr, &no_context};
  const std::string protocol_;
  std::string reason_;
  const std::optional<WebSocketDeflateTerms> deflate_;
  TimerId timer_;
  TimePoint ping_due_{};
  TimePoint last_message_{};
  uint64_t last_seen_bytes_ = 0;  // peer_progress_bytes() when last looked at; while ending, what was queued
  const WebSocketRole role_;
  uint16_t code_ = WebSocketCode::kAbnormal;
  State state_ = State::kOpen;
  WebSocketOpcode next_fragment_ = WebSocketOpcode::kText;
  bool in_message_ = false;  // begin_message() was called
  bool paused_ = false;
  bool blocked_ = false;  // above the high-water mark
  bool pinged_ = false;   // and nothing came since
  bool closed_here_ = false;
  bool cut_off_ = false;  // cut off because of its silence
};

// Shared by all sockets of an endpoint or client; each is called on the socket's loop: with several loops, on several
// threads at once, so no `mutable` lambda is taken. An exception that leaves one ends the connection, is logged and
// counted. None is required.
struct WebSocketCallbacks {
  SharedCallback<void(WebSocket&)> on_open = nullptr;
  // A whole message, text in valid UTF-8: a view that is good during the call.
  SharedCallback<void(WebSocket&, WebSocketKind, std::string_view message)> on_message = nullptr;
  // After a send answered false: the queue has drained to half of the high-water mark.
  SharedCallback<void(WebSocket&)> on_writable = nullptr;
  // The answer to a ping().
  SharedCallback<void(WebSocket&, std::string_view payload)> on_pong = nullptr;
  SharedCallback<void(WebSocket&, uint16_t code, std::string_view reason)> on_close = nullptr;
};

// Small, copyable, comparable; any thread, at any time, however late: then it does nothing and is counted.
class WebSocketHandle {
 public:
  WebSocketHandle() = default;
  explicit operator bool() const { return reach_ != nullptr; }
  bool operator==(const WebSocketHandle&) const = default;

  // As ConnectionHandle's: at once on the socket's loop, from elsewhere in the order of the calls of one thread; true
  // when taken. A message or a close that the loop refuses ends the connection.
  bool send_text(std::string message) const { return send(WebSocketKind::kText, std::move(message)); }
  bool send_binary(std::string message) const { return send(WebSocketKind::kBinary, std::move(message)); }
  bool send(const WebSocketBroadcast& message) const;
  bool close(uint16_t code = WebSocketCode::kNormal, std::string reason = {}) const;
  bool abort() const;
  // Calls `task` with the socket on its loop, if it is still there then.
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
