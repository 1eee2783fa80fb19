// SPDX-License-Identifier: BSD-3-Clause
// Connection: one stream with its callbacks, limits and end. ConnectionHandle: what a user keeps of it.
//
// A Connection belongs to its loop, is made by a Server or a Client, and dies after on_close. A Connection& is good
// inside the callback it was given to and no longer; whoever wants more keeps handle(), which may be used at any time
// from any thread: late use does nothing and is counted.
//
// How a connection ends. close() sends what is queued, then FIN, and waits (bounded by linger_timeout) for the peer's
// FIN, so that the last answer is never cut off by a reset; abort() resets at once. When the peer sends FIN first, what
// is queued still goes out before the end: half-close is honoured both ways. Whatever ends it, on_close comes exactly
// once for each on_open, last, and tells why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/buffer.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/loop/timer_wheel.h>

namespace peal {

class Connection;
class ConnectionHandle;
class Loop;
namespace detail {
class ConnectionSet;
}

enum class CloseReason : uint8_t {
  kLocal,          // close()
  kAborted,        // abort()
  kPeerClosed,     // the peer's FIN
  kReset,          // the peer's RST: ECONNRESET, EPIPE
  kFailed,         // any other error of the socket; see Connection::error()
  kInputLimit,     // the callback left more than input_limit_bytes unconsumed
  kOutputLimit,    // more than output_limit_bytes were queued
  kLingerTimeout,  // the graceful end made no progress for linger_timeout
  kCallbackThrew,  // an exception left a callback of this connection
  kLoopStopped,    // the loop ended
};
std::string_view to_string(CloseReason reason);

struct ConnectionOptions {
  // Output queued above it makes send() answer false and pauses receiving, because most input causes output.
  uint32_t high_water_bytes = 256 * 1024;
  // A peer that does not read is cut off here.
  size_t output_limit_bytes = 64 * 1024 * 1024;
  // A peer whose message never becomes complete is cut off here.
  size_t input_limit_bytes = 16 * 1024 * 1024;
  // How long a graceful end may go without progress. Long enough for a lost packet's retransmissions.
  Duration linger_timeout = std::chrono::seconds(5);
};

class Connection final : private SlotLinks, private StreamEvents {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Queues output, which leaves in one piece when the callback returns. True while below the high-water mark; after
  // false, on_writable tells when to go on. On a connection that is ending it does nothing and answers false.
  bool send(std::string_view bytes);  // copied
  bool send(Buffer&& bytes) {         // moved
    if (state_ != State::kOpen) [[unlikely]]
      return false;
    size_t size = bytes.size();
    return sent(size, engine().send(stream_, std::move(bytes)));
  }
  bool send(const SharedBytes& bytes);  // referred to

  // Ends gracefully; see above. Later calls do nothing.
  void close();
  // Ends with RST, dropping what is queued.
  void abort();
  // Stops and resumes receiving; what was left unconsumed is shown again after resume(), from the loop.
  void pause();
  void resume();

  ConnectionHandle handle();
  Loop& loop() const;
  bool is_open() const { return state_ == State::kOpen; }
  size_t queued_bytes() const;
  uint64_t received_bytes() const { return received_bytes_; }
  // Accepted for sending.
  uint64_t sent_bytes() const { return sent_bytes_; }
  Result<SocketAddress> local_address() const;
  Result<SocketAddress> peer_address() const;
  Result<void> set_option(SocketOption option, int value);
  // What the socket failed with, for on_close.
  std::error_code error() const { return error_ == 0 ? std::error_code{} : errno_code(error_); }

  // One object of the user's own, made in place and destroyed after on_close. context() asserts that it is a T.
  template <class T, class... Args>
  T& emplace_context(Args&&... args) {
    context_ = {new T(std::forward<Args>(args)...), &destroy_context<T>};
    return *static_cast<T*>(context_.get());
  }
  template <class T>
  T& context() const {
    PEAL_ASSERT(context_.get_deleter() == &destroy_context<T>,
                "the context of a connection is asked for as another type");
    return *static_cast<T*>(context_.get());
  }

 private:
  friend class detail::ConnectionSet;
  friend class SlotTable<Connection>;
  enum class State : uint8_t { kConnecting, kOpen, kClosing, kClosed };

  template <class T>
  static void destroy_context(void* context) {
    delete static_cast<T*>(context);
  }
  static void no_context(void*) {}

  void on_connected(std::error_code error) override;
  void on_received(Buffer& bytes) override;
  void on_receive_end(std::error_code error) override;
  void on_send_failed(std::error_code error) override;
  void on_sent(size_t left_bytes) override;
  void on_closed() override;
  void on_detached(LooseStream stream) override;

  Engine& engine() const { return *engine_; }
  bool sent(size_t size, size_t queued) {
    sent_bytes_ += size;
    if (queued > high_water_bytes_) [[unlikely]]
      return crossed_high_water(queued);
    return !above_high_water_;
  }
  [[gnu::noinline]] bool crossed_high_water(size_t queued);
  void open();
  void deliver(Buffer& bytes);
  [[gnu::noinline]] void deliver_with_kept(Buffer& bytes);
  [[gnu::noinline]] void keep(Buffer& bytes);
  [[gnu::noinline]] void threw();
  void show_again();
  void follow_flow();
  void end_gracefully(CloseReason reason);
  void linger();
  [[gnu::noinline]] void end(CloseReason reason, CloseHow how = CloseHow::kNormal);

  Engine* engine_ = nullptr;
  detail::ConnectionSet* set_ = nullptr;
  StreamId stream_;
  uint32_t slot_ = 0;
  uint32_t high_water_bytes_ = 0;
  Buffer input_;
  std::unique_ptr<void, void (*)(void*)> context_{nullptr, &no_context};
  uint64_t received_bytes_ = 0;
  uint64_t sent_bytes_ = 0;
  TimerId timer_;                 // linger, or showing unconsumed input again
  uint32_t lingering_bytes_ = 0;  // queued when the linger timer was set
  int error_ = 0;
  State state_ = State::kClosed;
  CloseReason reason_ = CloseReason::kLoopStopped;
  bool was_open_ : 1 = false;
  bool peer_ended_ : 1 = false;
  bool paused_ : 1 = false;
  bool above_high_water_ : 1 = false;
  bool output_failed_ : 1 = false;  // open only to read what the peer sent before it went
  bool ended_here_ : 1 = false;     // close() or abort() was called
};

// Shared by all connections of a Server or Client. Each is called on the connection's loop: with several loops, on
// several threads at once. None is required.
struct ConnectionCallbacks {
  std::move_only_function<void(Connection&)> on_open = nullptr;
  // Bytes arrived. Consume what is complete; the rest is kept and shown again with what arrives next.
  std::move_only_function<void(Connection&, Buffer& input)> on_message = nullptr;
  // Output that had crossed the high-water mark has drained to half of it.
  std::move_only_function<void(Connection&)> on_writable = nullptr;
  // The peer sent FIN and will send no more. With this set, the connection stays open for sending until close().
  std::move_only_function<void(Connection&)> on_peer_end = nullptr;
  std::move_only_function<void(Connection&, CloseReason)> on_close = nullptr;
};

// Small, copyable, comparable; any thread, at any time, however late.
class ConnectionHandle {
 public:
  ConnectionHandle() = default;
  explicit operator bool() const { return set_ != nullptr; }
  bool operator==(const ConnectionHandle&) const = default;

  // On the connection's loop these act at once; from elsewhere they travel there, in the order of the calls of one
  // thread. A refused post (LoopOptions::post_limit, or the loop has ended) is counted as lost.
  void send(std::string_view bytes) const;
  void send(Buffer&& bytes) const;
  void send(const SharedBytes& bytes) const;
  void close() const;
  void abort() const;
  // Calls `task` with the connection on its loop, if it is still open then.
  void run(std::move_only_function<void(Connection&)> task) const;

 private:
  friend class Connection;
  ConnectionHandle(std::shared_ptr<detail::ConnectionSet> set, uint32_t slot, uint32_t generation)
      : set_(std::move(set)), slot_(slot), generation_(generation) {}
  template <class Act>
  void act(Act&& action) const;

  std::shared_ptr<detail::ConnectionSet> set_;
  uint32_t slot_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace peal
