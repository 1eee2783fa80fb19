// SPDX-License-Identifier: BSD-3-Clause
// Stream: a Connection as coroutines see it. CoServer, Listener and connect() make them.
//
// It belongs to its connection's loop and owns the connection's end: destroying it closes gracefully, as close() does.
// It may outlive its connection; then everything fails with what ended it, behind what had come and is still read. That
// is dropped if the process is short of memory (CloseReason::kMemoryBudget). One coroutine reads at a time (asserted;
// one that is cancelled does until it is resumed), any number write: each write() goes out in one piece, in the order
// of the calls, so two messages never interleave. A message of several writes needs an AsyncMutex. Arguments are
// borrowed until the await ends: await in the same expression.
//
// While nobody reads, input is taken in up to 64 KiB; then receiving pauses and TCP slows the peer down. While a
// coroutine reads, it is given input however much output waits. What is not read yet is the connection's: its
// input_limit_bytes, min_read_bytes, memory budget, eviction and drain see it as they see what a callback leaves. From
// the first byte that a coroutine reads until its next read finds nothing and waits, the connection counts as busy.
//
// Errors: ECANCELED, ETIMEDOUT (see await.h); ESHUTDOWN after close() or abort(); of an ended connection ECONNRESET,
// what the socket or the layer failed with (Trouble::kTruncated where the peer's end had no end mark),
// Trouble::kLoopStopped, or ECONNABORTED for what peal ended, with close_reason().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/coro/stream_state.h>
#include <peal/coro/task.h>
#include <peal/net/connection.h>
#include <peal/net/pipe.h>
#include <peal/wire/framing/frame.h>

namespace peal {

namespace detail {

// A read with a deadline. Refers to the read, which lives on in the same expression: g++ 12 would move it.
template <class Read>
struct ReadUntil {
  bool await_ready() { return read.await_ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    return read.await_suspend(handle, timeout);
  }
  auto await_resume() { return read.await_resume(); }

  Read& read;
  const Duration timeout;
};

template <class Self>
class Reading {
 public:
  explicit Reading(StreamState& state) : state_(state) {}
  bool await_ready() {
    PEAL_ASSERT(state_.reader.idle(), "two coroutines read one stream, {} bytes being there", state_.input->size());
    return self().suffices() || state_.over;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle, std::optional<Duration> timeout = {}) {
    StreamState& state = state_;  // or it would be loaded again
    if (!state.reader.wait(handle, self().message(), timeout)) return false;
    if (state.connection->await_input_matters()) [[unlikely]]
      state.await_input();
    return true;
  }
  // As every awaitable's.
  ReadUntil<Self> within(Duration timeout) && { return {self(), timeout}; }
  // For select(), which withdraws what it has not chosen.
  Wait& selectable() { return state_.reader; }
  void withdrawn() { state_.reader.take_outcome(); }

 protected:
  Self& self() { return static_cast<Self&>(*this); }

  StreamState& state_;
};

}  // namespace detail

class [[nodiscard]] StreamRead final : public detail::Reading<StreamRead> {
 public:
  using Reading::Reading;
  Result<Buffer> await_resume() {
    if (state_.reader.arriving != nullptr) [[likely]]
      return Result<Buffer>(std::move(*std::exchange(state_.reader.arriving, nullptr)));
    if (const detail::Why why = state_.reader.take_outcome(); why != 0) return detail::failed(why);
    if (!state_.input->holds_blocks() && state_.why != 0) return detail::failed(state_.why);
    return Result<Buffer>(std::move(*state_.input));
  }
  bool suffices() const { return state_.input->holds_blocks(); }
  static detail::MessageRead* message() { return nullptr; }
};

// Until a delimiter, or a number of bytes.
class [[nodiscard]] StreamReadMessage final : public detail::MessageRead, public detail::Reading<StreamReadMessage> {
 public:
  StreamReadMessage(detail::StreamState& state, std::string_view delimiter, size_t bytes)
      : Reading(state), delimiter_(delimiter), bytes_(bytes) {}
  Result<Buffer> await_resume();
  bool suffices() override;
  void search_anew() override { searched_ = 0; }
  detail::MessageRead* message() { return this; }

 private:
  friend class Stream;
  static constexpr size_t kNoDelimiter = SIZE_MAX;  // in the place of bytes_: one was asked for, and it is empty

  const std::string_view delimiter_;  // empty: bytes_ are wanted exactly; otherwise at most
  const size_t bytes_;
  size_t searched_ = 0;
  size_t found_ = 0;  // how long the message is
  bool too_long_ = false;
};

// The next message of a framing (peal/wire/framing/frame.h). The framing is borrowed until the await ends.
template <Framing Its>
class [[nodiscard]] StreamReadFrame final : public detail::MessageRead, public detail::Reading<StreamReadFrame<Its>> {
 public:
  StreamReadFrame(detail::StreamState& state, const Its& framing)
      : detail::Reading<StreamReadFrame>(state), framing_(framing) {}
  Result<std::optional<Buffer>> await_resume() {
    detail::StreamState& state = this->state_;
    if (const detail::Why why = state.reader.take_outcome(); why != 0) return detail::failed(why);
    if (found_.state == FrameState::kMore) return state.end_of_messages();
    if (found_.state != FrameState::kWhole) return detail::failed(state.mark_refused(trouble_of(found_.state)));
    std::optional<Buffer> body(std::in_place);
    take_body(*state.input, found_, *body);
    return body;
  }
  bool suffices() override {
    found_ = framing_.peek(*this->state_.input);
    return found_.state != FrameState::kMore;
  }
  detail::MessageRead* message() { return this; }

 private:
  const Its& framing_;
  FramePeek found_;
};

namespace detail {

class [[nodiscard]] WriteWait final : public QueuedWait<WriteWait> {
 public:
  // `sent`: what StreamState::send() answered.
  WriteWait(bool sent, StreamState& state, Buffer& buffer)
      : sent_(sent), state_(state), what_(&buffer), size_(kBuffer) {}
  WriteWait(bool sent, StreamState& state, std::string_view bytes)
      : sent_(sent), state_(state), what_(bytes.data()), size_(bytes.size()) {}
  WriteWait(bool sent, StreamState& state, const FileRange& range)
      : sent_(sent), state_(state), what_(&range), size_(kFile) {}
  // It tells g++ that what was stored here is dead: so a write that need not wait stores nothing.
  ~WriteWait() {}  // NOLINT(modernize-use-equals-default): that would tell nothing
  bool await_ready() { return sent_ || !prepare_to_wait(); }
  Result<void> await_resume() const { return answer_of(why_); }
  void cancel(Why why) noexcept override;

 private:
  friend class StreamState;
  friend class QueuedWait<WriteWait>;
  friend class WaitList<WriteWait>;
  static constexpr size_t kBuffer = SIZE_MAX;
  static constexpr size_t kFile = SIZE_MAX - 1;
  static constexpr uint32_t kQueued = 2;  // and waits to get below the high-water mark
  WaitList<WriteWait>& line() { return state_.writers; }
  // True while below the high-water mark.
  bool send() {
    if (size_ == kFile) {
      state_.connection->send_file(*static_cast<const FileRange*>(what_));
      return state_.connection->send(std::string_view());
    }
    if (size_ == kBuffer) return state_.connection->send(std::move(*static_cast<Buffer*>(const_cast<void*>(what_))));
    return state_.connection->send(std::string_view(static_cast<const char*>(what_), size_));
  }
  bool prepare_to_wait();

  const bool sent_;
  StreamState& state_;
  const void* const what_;
  const size_t size_;
};

class [[nodiscard]] FlushWait final : public QueuedWait<FlushWait> {
 public:
  FlushWait(StreamState& state, bool starts, Why refused) : state_(state), starts_(starts) { why_ = refused; }
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
  WaitList<FlushWait>& line() { return starts_ ? state_.starters : state_.flushers; }

  StreamState& state_;
  const bool starts_;
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
    const size_t at_most = delimiter.empty() ? StreamReadMessage::kNoDelimiter : limit_bytes;
    return {*state_, delimiter, at_most};
  }
  // As many bytes; none is an empty Buffer at once. The end of input as above.
  StreamReadMessage read_exactly(size_t bytes) { return {*state_, {}, bytes}; }
  // The body of the next message, in the blocks it arrived in. An empty optional means that the peer has ended and that
  // no message is left. Fails with Trouble::kMessageTooLong or kMessageTooShort if the message breaks the framing, and
  // with Trouble::kTruncated if the input ends inside a message. These three call Connection::mark_refused(): a
  // coroutine may still write, to tell the peer, and when the stream is closed or destroyed the reason is kBadMessage
  // or kTruncated. Give a DelimiterFraming a name: g++ 12 destroys a temporary one twice.
  template <Framing Its>
  StreamReadFrame<Its> read(const Its& framing) {
    return {*state_, framing};
  }
  // Sends at once. Done when the output queue is below the high-water mark; while it is above, a message waits here, in
  // FIFO order. An error leaves open whether it goes out, but never half of it while the connection stands.
  detail::WriteWait write(Buffer&& bytes) { return {state_->send(bytes), *state_, bytes}; }
  detail::WriteWait write(std::string_view bytes) { return {state_->send(bytes), *state_, bytes}; }
  // The same of part of a file (open_file()), as Connection's: it holds no memory and counts towards no mark. A flush()
  // tells when it is out.
  detail::WriteWait send_file(const FileRange& range) { return {state_->send(range), *state_, range}; }
  // Ends sending alone: FIN follows what was written, reading goes on. Writes that still wait, and later ones, fail
  // with ESHUTDOWN.
  void shutdown_send() { state_->shutdown_send(); }
  // Done when the kernel has all that was written.
  detail::FlushWait flush() { return {*state_, false, 0}; }
  // As Connection's. Done when what is read and written goes over the layer; what was written before has left in the
  // clear, what waits to be written goes over the layer, and what has come and was not read is the layer's. Reads of
  // others go on. EALREADY; after another error, a deadline or a cancellation the stream is only to be ended.
  detail::FlushWait start_layer(std::string_view host = {}) { return {*state_, true, state_->start_layer(host)}; }

  // As pipe() of both connections, what was not read going first. co_await pipe(a, b) is peal/sync/pipe_streams.h.
  Result<void> pipe_to(Stream& other, const PipeOptions& options, Callback<void(PipeReport)> on_done) {
    return state_->pipe_to(*other.state_, options, std::move(on_done));
  }

  // False once it was moved from: then it can only be destroyed or assigned to.
  explicit operator bool() const { return state_ != nullptr; }
  // As Connection's. Waits of other coroutines on this stream end with ESHUTDOWN.
  void close() { state_->end(&Connection::close); }
  void abort() { state_->end(&Connection::abort); }
  // As Connection::mark_refused(): the caller cannot understand what the peer sent. It may still write, to tell the
  // peer; when the stream is closed or destroyed the connection ends as Connection::refuse() says.
  void mark_refused(Trouble why) { state_->mark_refused(why); }
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
