// SPDX-License-Identifier: BSD-3-Clause
// Stream: a Connection for coroutines. CoServer, Listener, connect() and adopt_stream() make streams.
//
// A stream belongs to its connection's loop. Destroying the stream closes the connection gracefully, as close() does. A
// stream may outlive its connection: input that arrived before can still be read, then every call fails with the reason
// of the connection's end. Unread input is dropped if the process is short of memory (CloseReason::kMemoryBudget).
//
// Only one coroutine may read at a time (asserted); a cancelled read counts until its coroutine is resumed. Any number
// of coroutines may write. The bytes of each write() are sent in one piece, in the order of the calls, so two messages
// never interleave. A message that consists of several writes needs an AsyncMutex. Arguments are borrowed until the
// await ends, so await in the same expression.
//
// While no coroutine reads, up to 64 KiB of input are received; then receiving pauses and TCP slows the peer down. A
// coroutine that reads receives input even while output waits to be sent. Unread input belongs to the connection: its
// input_limit_bytes, min_read_bytes, memory budget, eviction and drain treat it like input that a callback has left
// unread. The connection counts as busy from the first byte that a coroutine reads until its next read finds no input
// and waits.
//
// Errors of all calls:
// - ECANCELED, ETIMEDOUT: cancelled, or the deadline has passed (see await.h).
// - ESHUTDOWN: after close() or abort().
// - ECONNRESET: the peer has reset or closed the connection.
// - The error of the socket or the layer, if that failed. Trouble::kTruncated if the peer's end had no end mark.
// - Trouble::kLoopStopped: the loop has stopped.
// - ECONNABORTED: peal has ended the connection; close_reason() says why.
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

// The awaitable that Reading::within() returns: a read with a deadline. Holds only a reference to the read, because g++
// 12 would move a read that is returned by value. The read must live until the end of the co_await expression.
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

// Base class of the awaitables that read from a stream. The derived class Self has a function suffices(), which returns
// true if the unread input is enough for the read.
template <class Self>
class Reading {
 public:
  explicit Reading(StreamState& state) : state_(state) {}
  bool await_ready() {
    PEAL_ASSERT(state_.reader.idle(), "two coroutines read one stream, {} bytes unread", state_.input->size());
    return self().suffices() || state_.over;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle, std::optional<Duration> timeout = {}) {
    StreamState& state = state_;  // a local variable, because the member would be loaded from memory again
    if (!state.reader.wait(handle, self().message(), timeout)) return false;
    if (state.connection->await_input_matters()) [[unlikely]]
      state.await_input();
    return true;
  }
  // Gives the read a deadline. The read fails with ETIMEDOUT if it has not ended when `timeout` has passed.
  ReadUntil<Self> within(Duration timeout) && { return {self(), timeout}; }
  // Returns the wait of this read. Called by select().
  Wait& selectable() { return state_.reader; }
  // Called by select() after it has cancelled the wait of this read. Makes the stream ready for the next read.
  void withdrawn() { state_.reader.take_outcome(); }

 protected:
  Self& self() { return static_cast<Self&>(*this); }

  StreamState& state_;
};

}  // namespace detail

// The awaitable that Stream::read() returns.
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

// The awaitable that Stream::read_until() and Stream::read_exactly() return.
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
  static constexpr size_t kNoDelimiter = SIZE_MAX;  // the value of bytes_ if read_until() was given an empty delimiter

  const std::string_view delimiter_;  // empty for read_exactly()
  const size_t bytes_;                // the exact size of the message; with a delimiter its largest size
  size_t searched_ = 0;               // the position in the input at which the search for the delimiter continues
  size_t found_ = 0;                  // the size of the message; 0 until it is complete
  bool too_long_ = false;             // true if the first bytes_ bytes hold no delimiter
};

// The awaitable that Stream::read(framing) returns. Holds a reference to the framing (peal/wire/framing/frame.h), which
// must live until the await ends.
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

// The awaitable that Stream::write() and Stream::send_file() return.
class [[nodiscard]] WriteWait final : public QueuedWait<WriteWait> {
 public:
  // Makes a write of a Buffer. `sent` is the result of StreamState::send(), which the caller has called with the same
  // data. If `sent` is true, the write need not wait.
  WriteWait(bool sent, StreamState& state, Buffer& buffer)
      : sent_(sent), state_(state), what_(&buffer), size_(kBuffer) {}
  // Makes a write of a string; `sent` is the result of StreamState::send(bytes).
  WriteWait(bool sent, StreamState& state, std::string_view bytes)
      : sent_(sent), state_(state), what_(bytes.data()), size_(bytes.size()) {}
  // Makes a write of a part of a file; `sent` is the result of StreamState::send(range).
  WriteWait(bool sent, StreamState& state, const FileRange& range)
      : sent_(sent), state_(state), what_(&range), size_(kFile) {}
  // This destructor is not defaulted, because g++ treats the members as dead only after a user-provided destructor. If
  // the members are dead, g++ does not store them to memory for a write that need not wait.
  ~WriteWait() {}  // NOLINT(modernize-use-equals-default): a defaulted one lets the stores stay
  bool await_ready() { return sent_ || !prepare_to_wait(); }
  Result<void> await_resume() const { return answer_of(why_); }
  void cancel(Why why) noexcept override;

 private:
  friend class StreamState;
  friend class QueuedWait<WriteWait>;
  friend class WaitList<WriteWait>;
  static constexpr size_t kBuffer = SIZE_MAX;    // the value of size_ if what_ is a Buffer
  static constexpr size_t kFile = SIZE_MAX - 1;  // the value of size_ if what_ is a FileRange
  static constexpr uint32_t kQueued = 2;         // the connection has the bytes; waits for the high-water mark only
  WaitList<WriteWait>& line() { return state_.writers; }
  // Gives the data of the write to the connection. Returns true if the connection's output is below the high-water mark
  // afterwards.
  bool send() {
    if (size_ == kFile) {
      state_.connection->send_file(*static_cast<const FileRange*>(what_));
      return state_.connection->send(std::string_view());
    }
    if (size_ == kBuffer) return state_.connection->send(std::move(*static_cast<Buffer*>(const_cast<void*>(what_))));
    return state_.connection->send(std::string_view(static_cast<const char*>(what_), size_));
  }
  // Called by await_ready() if StreamState::send() has returned false. Returns true if the write must wait. Returns
  // false and sets why_ if the stream cannot send; the write then fails with why_.
  bool prepare_to_wait();

  const bool sent_;
  StreamState& state_;
  const void* const what_;  // a Buffer, a FileRange, or the first of `size_` bytes
  const size_t size_;
};

// The awaitable that Stream::flush() and Stream::start_layer() return.
class [[nodiscard]] FlushWait final : public QueuedWait<FlushWait> {
 public:
  // Makes the wait of start_layer() if `starts` is true, and of flush() if `starts` is false. If `refused` is not 0,
  // the await fails at once with that error.
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
  const bool starts_;  // true for start_layer()
};

// Returns the callbacks for connections that are used as streams. When a connection opens, on_open creates a
// StreamState and passes it to `take`, on the connection's loop. `take` must make the Stream.
SharedConnectionCallbacks stream_callbacks(SharedCallback<void(Connection&, StreamState&)> take);

}  // namespace detail

class Stream {
 public:
  // Reads all input that has arrived. If no input has arrived, waits for at least one byte. Returns an empty Buffer
  // after the peer's FIN.
  StreamRead read() { return StreamRead(*state_); }
  // Reads a message up to and including the delimiter. Returns an empty Buffer if the input ends before a message
  // begins. Errors:
  // - EINVAL: `delimiter` is empty.
  // - EMSGSIZE: the first `limit_bytes` bytes of the input do not contain the delimiter.
  // - ENODATA: the input ends inside a message. The bytes of the incomplete message can still be read, for example by
  //   read().
  StreamReadMessage read_until(std::string_view delimiter, size_t limit_bytes = 64 * 1024) {
    const size_t at_most = delimiter.empty() ? StreamReadMessage::kNoDelimiter : limit_bytes;
    return {*state_, delimiter, at_most};
  }
  // Reads exactly `bytes` bytes. If `bytes` is 0, returns an empty Buffer at once. If the input ends before `bytes`
  // bytes have arrived:
  // - returns an empty Buffer if no unread byte is left;
  // - fails with ENODATA if at least one unread byte is left.
  StreamReadMessage read_exactly(size_t bytes) { return {*state_, {}, bytes}; }
  // Reads the body of the next message, in the blocks in which it arrived. Returns an empty optional if the peer has
  // ended its output and no message is left. Three errors mark the connection as refused (Connection::mark_refused()):
  // - Trouble::kMessageTooLong: the message is longer than the framing allows.
  // - Trouble::kMessageTooShort: the message is shorter than the framing allows.
  // - Trouble::kTruncated: the input ends inside a message.
  //
  // After such an error, the coroutine may still write an error answer to the peer. When the stream is then closed or
  // destroyed, the CloseReason is kTruncated after Trouble::kTruncated, and kBadMessage after the other two errors.
  //
  // A DelimiterFraming must be a named variable, because g++ 12 destroys a temporary object of a co_await expression
  // twice.
  template <Framing Its>
  StreamReadFrame<Its> read(const Its& framing) {
    return {*state_, framing};
  }
  // Writes `bytes` to the connection. If the output is below its high-water mark and no other write waits, the bytes
  // are sent at once. Otherwise the bytes are sent after those of the earlier writes, when the output is below the mark
  // again. The await ends when the bytes are sent or queued and the output is below the mark. If a write fails, its
  // bytes may have been sent or not. While the connection is open, the bytes of a write are never sent in part.
  detail::WriteWait write(Buffer&& bytes) { return {state_->send(bytes), *state_, bytes}; }
  // Writes the characters of `bytes` as write(Buffer) does. The characters must live until the await ends.
  detail::WriteWait write(std::string_view bytes) { return {state_->send(bytes), *state_, bytes}; }
  // Sends a part of a file (open_file()), in order with the bytes of write(). As with Connection::send_file(), the
  // bytes of the file use no memory and do not count towards the high-water mark. flush() waits for the bytes of the
  // file, too.
  detail::WriteWait send_file(const FileRange& range) { return {state_->send(range), *state_, range}; }
  // Ends sending: the FIN is sent after the bytes that the connection has taken. The stream can still be read. A write
  // that waits fails with ESHUTDOWN if the connection has not yet taken its bytes. Every later write fails with
  // ESHUTDOWN.
  void shutdown_send() { state_->shutdown_send(); }
  // Waits until the connection has given all written bytes to the kernel.
  detail::FlushWait flush() { return {*state_, false, 0}; }
  // Starts the layer of ConnectionOptions::layer_later, such as TLS, as Connection::start_layer() does. The await ends
  // when the layer's handshake is done. From then on, all bytes that are read and written go through the layer.
  // - Bytes that the connection has taken before the call are sent without the layer. The bytes of writes that still
  //   wait are sent through the layer.
  // - Input that has arrived and was not read yet is given to the layer.
  // - If another coroutine waits in a read, that read continues. It receives the input that comes through the layer.
  //
  // Fails with EALREADY if the connection has the layer already or is starting it. If the await fails with any other
  // error, such as that of a deadline or a cancellation, the stream may only be closed, aborted or destroyed.
  detail::FlushWait start_layer(std::string_view host = {}) { return {*state_, true, state_->start_layer(host)}; }

  // Joins the connections of both streams as pipe() (peal/net/pipe.h) does, with the errors of pipe(). Unread input of
  // each stream is sent to the other stream first. Asserts that no coroutine reads or writes in either stream. A
  // coroutine should call `co_await pipe(a, b)` (peal/sync/pipe_streams.h) instead of this function.
  Result<void> pipe_to(Stream& other, const PipeOptions& options, Callback<void(PipeReport)> on_done) {
    return state_->pipe_to(*other.state_, options, std::move(on_done));
  }

  // False if the stream was moved from, otherwise true. A stream that was moved from may only be destroyed or assigned
  // to.
  explicit operator bool() const { return state_ != nullptr; }
  // Ends the connection as Connection::close() does. Other coroutines that wait in this stream fail with ESHUTDOWN.
  void close() { state_->end(&Connection::close); }
  // Ends the connection as Connection::abort() does. Other coroutines that wait in this stream fail with ESHUTDOWN.
  void abort() { state_->end(&Connection::abort); }
  // Calls Connection::mark_refused(), for a caller that cannot understand what the peer sent. The caller may still
  // write an error answer to the peer. When the stream is then closed or destroyed, the CloseReason is kTruncated if
  // `why` is Trouble::kTruncated, otherwise kBadMessage.
  void mark_refused(Trouble why) { state_->mark_refused(why); }
  // True if the connection has not ended and is not about to end.
  bool is_open() const { return state_->connection != nullptr && state_->connection->is_open(); }
  // Returns why the connection has ended. Returns nullopt while the connection has not ended.
  std::optional<CloseReason> close_reason() const { return state_->reason; }
  // Returns a handle of the connection. The handle is empty after the connection has ended.
  ConnectionHandle handle() const;
  // Returns the connection, so that its addresses, options and counters can be used. Returns null after the connection
  // has ended.
  Connection* connection() const { return state_->connection; }

  // Makes the Stream of a connection's state. Called only by the library, once for each state.
  explicit Stream(detail::StreamState& state) : state_(&state) {}

 private:
  // The deleter of `state_`. Closes the connection if it has not ended. Deletes the state if the connection does not
  // refer to it any more.
  struct Leave {
    void operator()(detail::StreamState* state) const;
  };
  std::unique_ptr<detail::StreamState, Leave> state_;
};

}  // namespace peal
