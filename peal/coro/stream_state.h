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
  // True if the read can end: the message has arrived, or it breaks a limit.
  virtual bool suffices() = 0;
  // Forgets positions in the input, because the input was taken away.
  virtual void search_anew() {}

 protected:
  ~MessageRead() = default;
};

// The wait of the coroutine that reads, from its beginning until the coroutine is resumed. Only one coroutine reads at
// a time, so the stream owns the one ReadWait instead of each read having its own.
class ReadWait final : public Wait {
 public:
  // True if no coroutine reads.
  bool idle() const { return marks_ == 0; }
  // True if a coroutine waits for input.
  bool waits() const { return (marks_ & (kAny | kMessage)) != 0; }
  // True if a coroutine waits for any input, without a deadline and without a select().
  bool takes_any() const { return marks_ == kAny; }
  // Returns the message that is waited for; null if any input is enough or no coroutine waits.
  MessageRead* message() const { return (marks_ & kMessage) != 0 ? message_ : nullptr; }
  // Begins to wait for `message`, or for any input if that is null. Returns false if the coroutine must not wait.
  template <class Promise>
  bool wait(std::coroutine_handle<Promise> handle, MessageRead* message, std::optional<Duration> timeout) {
    marks_ = message == nullptr ? kAny : kMessage;
    if (message != nullptr) message_ = message;
    if (timeout) set_timeout(*timeout);
    return begin(handle);
  }
  // Ends the wait with success: the input suffices, or has ended.
  void satisfied() noexcept { cancel(0); }
  // Ends the wait with success and gives the reader `more`, which is not put into the stream's input. May be called
  // only if takes_any() is true and ReadyQueue::busy() is false.
  void satisfied_by(Buffer& more) noexcept {
    arriving = &more;
    marks_ = 0;
    complete_now();
  }
  void cancel(Why why) noexcept override {
    marks_ = (marks_ & (kTimed | kSelected)) | kReady;
    complete(why);
  }
  // Makes the reader idle() and returns how its wait ended: 0 or an error. Called by await_resume(), unless `arriving`
  // is set.
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

// The state that a Stream shares with its connection; see the top of this file.
class StreamState {
 public:
  explicit StreamState(Connection& its_connection) : connection(&its_connection), input(&its_connection.kept_input()) {}

  // Events of the connection: its callbacks on_message, on_peer_end and on_writable.
  void received(Buffer& more);
  void peer_ended();
  void writable();

  // Fails all waits, because the connection has ended or is about to. `why` is the error of later calls.
  void fail(Why why);
  // Returns the error of a write that cannot be begun; 0 if it can.
  Why why_no_write() const;
  // Keeps the unread input and fails all waits, because the connection has ended for `reason`.
  void connection_ended(CloseReason reason, std::error_code error);
  // Ends sending; see Stream::shutdown_send().
  void shutdown_send();
  // True after shutdown_send() while bytes written before may still be sent.
  bool may_flush() const {
    return send_ended && connection != nullptr && connection->is_open() &&
           connection->life() != ConnectionLife::kReadingOut;
  }
  // Joins both connections; see Stream::pipe_to(). Input that was not read goes to the other stream first.
  Result<void> pipe_to(StreamState& other, const PipeOptions& options, Callback<void(PipeReport)> on_done);
  // Tells the connection that a read waits for more input. Does nothing inside on_message: after that callback the
  // connection checks this itself.
  void await_input() {
    if (input == &connection->kept_input()) connection->await_input();
  }
  // Returns what read(framing) returns when the input has ended and holds no whole message: an empty optional, or an
  // error.
  Result<std::optional<Buffer>> end_of_messages();
  // Calls Connection::mark_refused() and returns why_of(trouble).
  Why mark_refused(Trouble trouble) {
    if (connection != nullptr) connection->mark_refused(trouble);
    return why_of(trouble);
  }
  // Ends the connection by `how`, which is close() or abort(). Calls that wait fail with ESHUTDOWN.
  void end(void (Connection::*how)());
  // Starts the layer; see Stream::start_layer(). Returns 0 if the layer begins its handshake, otherwise the error.
  Why start_layer(std::string_view host);
  // Resumes the coroutines that wait for the layer: the connection's callback on_secured.
  void secured();

  // Sends at once unless other writes wait. Returns true if the bytes were sent and the output is below the high-water
  // mark, so that the write need not wait.
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
  // True if pipe_to() may begin. Asserts that no coroutine waits in the stream.
  bool may_be_piped() const;
  // Resumes the reader if `more` suffices for it. Pauses receiving if no coroutine reads and `high_water_bytes` or
  // more are unread.
  void offer_input(Buffer& more);
  // Resumes the reader if the input suffices or has ended.
  void resume_if_satisfied();
  // Sends the messages of waiting writes, oldest first, until the output is above the high-water mark.
  void pump_writers();
  // Ends the flushes that wait if nothing is queued.
  void pump_flushers();
  // Ends all writes, flushes and start_layer() calls that wait with the error `with`.
  void fail_writers(Why with);
};

}  // namespace peal::detail
