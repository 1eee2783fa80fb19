// SPDX-License-Identifier: BSD-3-Clause
// StreamState: the state that a Stream shares with its connection. The connection's callbacks and the functions of
// Stream call it; stream.cc implements both. ReadWait is the wait of the one coroutine that reads.
//
// All calls are made on the connection's loop. The Stream and the connection's context own the state together: the one
// that is destroyed last deletes it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/coro/await.h>
#include <peal/net/connection.h>
#include <peal/net/pipe.h>

namespace peal::detail {

class WriteWait;
class FlushWait;

// A read that waits until a whole message has arrived.
class MessageRead {
 public:
  // True if the read need not wait for more input, because the message has arrived completely or exceeds a limit.
  virtual bool suffices() = 0;
  // Makes the next search of the input begin at the first byte. Called when start_layer() has given the unread input to
  // the layer, because the old position would then be wrong.
  virtual void search_anew() {}

 protected:
  ~MessageRead() = default;
};

// The wait of the coroutine that reads. Only one coroutine reads at a time, so the stream owns one ReadWait that all
// reads use. A read uses the ReadWait from the beginning of the read until the coroutine is resumed.
class ReadWait final : public Wait {
 public:
  // True if no coroutine reads.
  bool idle() const { return marks_ == 0; }
  // True if a coroutine waits for input.
  bool waits() const { return (marks_ & (kAny | kMessage)) != 0; }
  // True if a coroutine waits for any input, without a deadline and without select().
  bool takes_any() const { return marks_ == kAny; }
  // Returns the message that the coroutine waits for. Returns null if any input is enough or no coroutine waits.
  MessageRead* message() const { return (marks_ & kMessage) != 0 ? message_ : nullptr; }
  // Begins to wait for `message`, or for any input if `message` is null. Returns false if the coroutine must not wait,
  // because it was cancelled or its loop has stopped.
  template <class Promise>
  bool wait(std::coroutine_handle<Promise> handle, MessageRead* message, std::optional<Duration> timeout) {
    marks_ = message == nullptr ? kAny : kMessage;
    if (message != nullptr) message_ = message;
    if (timeout) set_timeout(*timeout);
    return begin(handle);
  }
  // Ends the wait with success, because the input is enough for the read or has ended.
  void satisfied() noexcept { cancel(0); }
  // Ends the wait with success and resumes the coroutine. The coroutine takes `more` as the result of its read, so
  // `more` is not put into the stream's input. May be called only if takes_any() is true and ReadyQueue::busy() is
  // false.
  void satisfied_by(Buffer& more) noexcept {
    arriving = &more;
    marks_ = 0;
    complete_now();
  }
  void cancel(Why why) noexcept override {
    marks_ = (marks_ & (kTimed | kSelected)) | kReady;
    complete(why);
  }
  // Returns how the wait ended: 0 or an error. Afterwards idle() is true. Called when the coroutine is resumed, except
  // if `arriving` holds the result of the read.
  Why take_outcome() {
    marks_ = 0;
    return std::exchange(why_, 0);
  }

  Buffer* arriving = nullptr;  // set by satisfied_by(); the read takes it

 private:
  static constexpr uint32_t kAny = 2;      // a coroutine waits for any input
  static constexpr uint32_t kMessage = 4;  // a coroutine waits for `message_`
  static constexpr uint32_t kReady = 8;    // the wait has ended, the coroutine is not resumed yet

  MessageRead* message_;
};

// The state that a Stream shares with its Connection. The Stream or the Connection, whichever is destroyed last,
// deletes the state.
class StreamState {
 public:
  explicit StreamState(Connection& its_connection) : connection(&its_connection), input(&its_connection.kept_input()) {}

  // Called by the connection's callback on_message. `more` is the unread input.
  void received(Buffer& more);
  // Called by the connection's callback on_peer_end.
  void peer_ended();
  // Called by the connection's callback on_writable.
  void writable();

  // Fails all calls that wait in the stream, because the connection has ended or is about to end. Later calls fail with
  // `why`, except reads of input that has arrived before.
  void fail(Why why);
  // Returns the error with which a new write fails. Returns 0 if the stream can send now or after the layer's
  // handshake.
  Why why_no_write() const;
  // Called when the connection has ended for `reason`. Keeps the unread input, except if memory is short, and fails all
  // calls that wait in the stream.
  void connection_ended(CloseReason reason, std::error_code error);
  // Ends sending; see Stream::shutdown_send().
  void shutdown_send();
  // True if shutdown_send() was called, and the connection may still send bytes that were written before that call.
  bool may_flush() const {
    return send_ended && connection != nullptr && connection->is_open() &&
           connection->life() != ConnectionLife::kReadingOut;
  }
  // Joins the connections of both streams; see Stream::pipe_to(). Unread input of each stream is sent to the other
  // stream first.
  Result<void> pipe_to(StreamState& other, const PipeOptions& options, Callback<void(PipeReport)> on_done);
  // Called when a read begins to wait for more input. Reports this to the connection by Connection::await_input().
  // Inside on_message no report is needed: when on_message returns, the connection checks whether a read waits.
  void await_input() {
    if (input == &connection->kept_input()) connection->await_input();
  }
  // Called if the input has ended and holds no whole message. Returns the result of read(framing): an empty optional if
  // no byte is left, or an error if the connection has failed or a part of a message is left.
  Result<std::optional<Buffer>> end_of_messages();
  // Calls Connection::mark_refused() if the connection has not ended. Returns `trouble` as a Why.
  Why mark_refused(Trouble trouble) {
    if (connection != nullptr) connection->mark_refused(trouble);
    return why_of(trouble);
  }
  // Ends the connection by calling `how`, which is Connection::close() or Connection::abort(). Calls that wait in the
  // stream fail with ESHUTDOWN.
  void end(void (Connection::*how)());
  // Starts the layer; see Stream::start_layer(). Returns 0 if the layer was started, otherwise the error.
  Why start_layer(std::string_view host);
  // Called by the connection's callback on_secured when the layer's handshake is done. Resumes the coroutines that wait
  // in start_layer(), and sends the bytes of the writes that have waited for the handshake.
  void secured();

  // Gives the bytes to the connection if `writable_now` is true: no other write waits, and the output is below the
  // high-water mark. Returns true if the connection took the bytes and the output is still below the mark. A write for
  // which send() returns true need not wait.
  bool send(Buffer& bytes) { return writable_now && connection->send(std::move(bytes)); }
  bool send(std::string_view bytes) { return writable_now && connection->send(bytes); }
  bool send(const FileRange& range) {
    if (writable_now) connection->send_file(range);
    return send(std::string_view());
  }

  Connection* connection;  // null after the connection has ended
  Buffer* input;           // the unread input: kept_input(), the argument of on_message while that runs, or `rest`
  Buffer rest;             // the unread input after the connection has ended
  ReadWait reader;
  WaitList<WriteWait> writers;
  WaitList<FlushWait> flushers;
  WaitList<FlushWait> starters;  // coroutines that wait in start_layer()
  std::optional<CloseReason> reason;
  std::shared_ptr<void> keeper;  // owns the connection's Client or Server; released when the connection has ended
  Why why = 0;                   // the reason for the end of the input: 0 is the peer's FIN
  bool over = false;             // true if no more input comes
  bool writable_now = true;      // true if a write may send at once: below the high-water mark, no write waits
  bool above = false;            // true if the output is above the high-water mark
  bool send_ended = false;       // true after shutdown_send()
  bool securing = false;         // true during the layer's handshake: writes and flushes wait until it is done
  bool held_by_stream = true;
  bool held_by_connection = true;
  uint32_t high_water_bytes = 64 * 1024;  // receiving pauses when so much is unread and no coroutine reads

 private:
  // True if the stream's connection can be joined by pipe_to(). Asserts that no coroutine reads or writes in the
  // stream.
  bool may_be_piped() const;
  // Resumes the reader if `more` is enough for its read. Pauses receiving if no coroutine waits for input and `more`
  // has at least `high_water_bytes` bytes.
  void offer_input(Buffer& more);
  // Resumes the reader if the unread input is enough for its read, or if no more input comes.
  void resume_if_satisfied();
  // Gives the bytes of waiting writes to the connection, oldest write first, and completes these writes. Stops when the
  // output is above the high-water mark.
  void pump_writers();
  // Completes the waiting calls of flush() if the connection has no queued bytes.
  void pump_flushers();
  // Fails all calls of write(), send_file(), flush() and start_layer() that wait. `with` is the error that these calls
  // return.
  void fail_writers(Why with);
};

}  // namespace peal::detail
