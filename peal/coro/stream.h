// SPDX-License-Identifier: BSD-3-Clause
// Stream: a Connection as coroutines see it. CoServer, Listener and connect() make them.
//
// It belongs to its connection's loop and owns the connection's end: destroying it closes gracefully, as close() does.
// It may outlive its connection; then everything fails with what ended it. One coroutine reads at a time (asserted),
// any number write: each write() goes out in one piece, in the order of the calls, so two messages never interleave. A
// message of several writes needs an AsyncMutex. Arguments are borrowed until the await ends: await in the same
// expression.
//
// Nobody reads: input is taken in up to high_water_bytes, then receiving pauses and TCP slows the peer down.
//
// Errors: ECANCELED, ETIMEDOUT (see await.h); ESHUTDOWN after close() or abort(); of an ended connection ECONNRESET,
// what the socket failed with, Trouble::kLoopStopped, or ECONNABORTED for what peal ended, with close_reason().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/coro/task.h>
#include <peal/net/connection.h>

namespace peal {

namespace detail {

class ReadWait;
class WriteWait;
class FlushWait;

// Owned by the Stream and by the connection's context, whichever dies last.
class StreamState {
 public:
  explicit StreamState(Connection& connection);

  void received(Buffer& more);
  void peer_ended();
  void writable();
  // The connection is no more, or as good as: `why` is what later calls fail with.
  void fail(Why why);
  Why why_no_write() const;
  void gone(CloseReason reason, std::error_code error);
  // From now on reads may expect more input.
  void want_input();
  // Unless others wait to: then, and when the output gets above the high-water mark, false.
  bool send(Buffer& bytes) { return writable_now && connection->send(std::move(bytes)); }
  bool send(std::string_view bytes) { return writable_now && connection->send(bytes); }

  Connection* connection;  // null once gone
  Buffer input;
  Buffer* arriving = nullptr;  // goes to the reader past `input`
  ReadWait* reader = nullptr;
  WaitList<WriteWait> writers;
  WaitList<FlushWait> flushers;
  std::optional<CloseReason> reason;
  std::shared_ptr<void> keeper;  // what the connection needs to live, and dies with it
  Why why = 0;                   // what the end of input means: 0 is the peer's FIN
  bool over = false;             // no more input
  bool writable_now = true;      // below the high-water mark and nobody waits
  bool above = false;            // the high-water mark
  bool paused = false;
  bool held_by_stream = true;
  bool held_by_connection = true;
  uint32_t high_water_bytes;

 private:
  void received_slow(Buffer& more);
  void pump_writers();
  void pump_flushers();
  void fail_writers(Why with);
};

// Answers for somebody who reads whatever comes.
class ReadWait : public Wait {
 public:
  explicit ReadWait(StreamState& state) : state_(state) {}
  // Whatever comes will do.
  bool takes_any() const { return flag_ == 0; }
  void satisfied() noexcept {
    state_.reader = nullptr;
    complete(0);
  }
  void satisfied_now() noexcept {
    state_.reader = nullptr;
    complete_now();
  }
  void cancel(Why why) noexcept override {
    state_.reader = nullptr;
    complete(why);
  }
  // Completes if the input suffices.
  virtual void look() noexcept = 0;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    PEAL_ASSERT(state_.reader == nullptr, "two coroutines read one stream, {} bytes being there", state_.input.size());
    if (!begin(handle)) return false;
    state_.reader = this;
    if (state_.paused) [[unlikely]]
      state_.want_input();
    return true;
  }

 protected:
  ~ReadWait() = default;

  StreamState& state_;
};

}  // namespace detail

class [[nodiscard]] StreamRead final : public detail::Awaitable<StreamRead, detail::ReadWait> {
 public:
  using Awaitable::Awaitable;
  bool await_ready() const { return state_.input.holds_blocks() || state_.over; }
  Result<Buffer> await_resume() {
    if (state_.arriving != nullptr) [[likely]]
      return Result<Buffer>(std::move(*std::exchange(state_.arriving, nullptr)));
    if (why_ != 0) return detail::failed(why_);
    if (!state_.input.holds_blocks() && state_.why != 0) return detail::failed(state_.why);
    return Result<Buffer>(std::move(state_.input));
  }
  void look() noexcept override { satisfied(); }
};

// Until a delimiter, or a number of bytes.
class [[nodiscard]] StreamReadMessage final : public detail::Awaitable<StreamReadMessage, detail::ReadWait> {
 public:
  StreamReadMessage(detail::StreamState& state, std::string_view delimiter, size_t bytes)
      : Awaitable(state), delimiter_(delimiter), bytes_(bytes) {
    flag_ = 1;
  }
  bool await_ready() { return find() || state_.over; }
  Result<Buffer> await_resume();
  void look() noexcept override {
    if (find() || state_.over) satisfied();
  }

 private:
  bool find();

  friend class Stream;
  static constexpr size_t kNoDelimiter = SIZE_MAX;  // in the place of bytes_: one was asked for, and it is empty

  const std::string_view delimiter_;  // empty: bytes_ are wanted exactly; otherwise at most
  const size_t bytes_;
  size_t searched_ = 0;
  size_t found_ = 0;  // how long the message is
  bool too_long_ = false;
};

namespace detail {

class [[nodiscard]] WriteWait final : public QueuedWait<WriteWait> {
 public:
  // `sent`: what StreamState::send() answered.
  WriteWait(bool sent, StreamState& state, Buffer& buffer)
      : sent_(sent), state_(state), what_(&buffer), size_(kBuffer) {}
  WriteWait(bool sent, StreamState& state, std::string_view bytes)
      : sent_(sent), state_(state), what_(bytes.data()), size_(bytes.size()) {}
  // It tells g++ that what was stored here is dead: so a write that need not wait stores nothing.
  ~WriteWait() {}  // NOLINT(modernize-use-equals-default): that would tell nothing
  bool await_ready() { return sent_ || settled(); }
  Result<void> await_resume() const { return answer_of(why_); }
  void cancel(Why why) noexcept override;

 private:
  friend class StreamState;
  friend class QueuedWait<WriteWait>;
  friend class WaitList<WriteWait>;
  static constexpr size_t kBuffer = SIZE_MAX;
  WaitList<WriteWait>& line() { return state_.writers; }
  // True while below the high-water mark.
  bool send() {
    if (size_ == kBuffer) return state_.connection->send(std::move(*static_cast<Buffer*>(const_cast<void*>(what_))));
    return state_.connection->send(std::string_view(static_cast<const char*>(what_), size_));
  }
  // flag_: it is queued, and waits to get below the high-water mark.
  bool settled();

  const bool sent_;
  StreamState& state_;
  const void* const what_;
  const size_t size_;
};

class [[nodiscard]] FlushWait final : public QueuedWait<FlushWait> {
 public:
  explicit FlushWait(StreamState& state) : state_(state) {}
  bool await_ready();
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!QueuedWait::await_suspend(handle)) return false;
    state_.connection->report_drained();
    return true;
  }
  Result<void> await_resume() const { return answer_of(why_); }

 private:
  friend class StreamState;
  friend class QueuedWait<FlushWait>;
  friend class WaitList<FlushWait>;
  WaitList<FlushWait>& line() { return state_.flushers; }

  StreamState& state_;
};

// Callbacks that make each new connection a Stream and give it to `take`, on the connection's loop.
SharedConnectionCallbacks stream_callbacks(SharedCallback<void(Connection&, StreamState&)> take);

}  // namespace detail

class Stream {
 public:
  // Whatever has come, at least a byte; an empty Buffer once the peer has sent its FIN.
  StreamRead read() { return StreamRead(*state_); }
  // Up to and with the delimiter; EINVAL where that is empty. EMSGSIZE when `limit_bytes` hold none, ENODATA when the
  // input ends inside a message (what there is can still be read); an empty Buffer when it ends before one.
  StreamReadMessage read_until(std::string_view delimiter, size_t limit_bytes = 64 * 1024) {
    return {*state_, delimiter, delimiter.empty() ? StreamReadMessage::kNoDelimiter : limit_bytes};
  }
  // As many bytes; none is an empty Buffer at once. The end of input as above.
  StreamReadMessage read_exactly(size_t bytes) { return {*state_, {}, bytes}; }
  // Sends at once. Done when the output queue is below the high-water mark; while it is above, a message waits here, in
  // FIFO order. An error leaves open whether it goes out, but never half of it while the connection stands.
  detail::WriteWait write(Buffer&& bytes) { return {state_->send(bytes), *state_, bytes}; }
  detail::WriteWait write(std::string_view bytes) { return {state_->send(bytes), *state_, bytes}; }
  // Done when the kernel has all that was written.
  detail::FlushWait flush() { return detail::FlushWait(*state_); }

  // As Connection's. Waits of other coroutines on this stream end with ESHUTDOWN.
  void close();
  void abort();
  bool is_open() const { return state_->connection != nullptr && state_->connection->is_open(); }
  // Once the connection is gone.
  std::optional<CloseReason> close_reason() const { return state_->reason; }
  // Names nothing once the connection is gone.
  ConnectionHandle handle() const;
  // For addresses, options, counters; null once the connection is gone.
  Connection* connection() const { return state_->connection; }

  explicit Stream(detail::StreamState& state) : state_(&state) {}

 private:
  struct Leave {
    void operator()(detail::StreamState* state) const;
  };
  std::unique_ptr<detail::StreamState, Leave> state_;
};

}  // namespace peal
