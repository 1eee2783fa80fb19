// SPDX-License-Identifier: BSD-3-Clause
// StreamState: what a Stream shares with its connection. Its functions are the events of the connection and the calls
// of the Stream; stream.cc has them. ReadWait is the one coroutine that reads.
//
// On the connection's loop. Owned by the Stream and by the connection's context, whichever dies last.
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
  // Whether the read can end: the message has arrived, or it breaks a limit.
  virtual bool suffices() = 0;
  // The input was taken away, so positions in it are void.
  virtual void search_anew() {}

 protected:
  ~MessageRead() = default;
};

// Whoever reads, from when it waits until it is resumed. One does at a time: so this is the stream's, and not made anew
// by each read, in its frame.
class ReadWait final : public Wait {
 public:
  // Nobody reads.
  bool idle() const { return marks_ == 0; }
  bool waits() const { return (marks_ & (kAny | kMessage)) != 0; }
  // For whatever comes, whenever.
  bool takes_any() const { return marks_ == kAny; }
  // What is waited for; null: whatever comes.
  MessageRead* message() const { return (marks_ & kMessage) != 0 ? message_ : nullptr; }
  template <class Promise>
  bool wait(std::coroutine_handle<Promise> handle, MessageRead* message, std::optional<Duration> timeout) {
    marks_ = message == nullptr ? kAny : kMessage;
    if (message != nullptr) message_ = message;
    if (timeout) set_timeout(*timeout);
    return begin(handle);
  }
  void satisfied() noexcept { cancel(0); }
  // The same of one that takes_any(), past the stream's input, when not ReadyQueue::busy().
  void satisfied_by(Buffer& more) noexcept {
    arriving = &more;
    marks_ = 0;
    complete_now();
  }
  void cancel(Why why) noexcept override {
    marks_ = (marks_ & (kTimed | kSelected)) | kReady;
    complete(why);
  }
  // In await_resume(), unless something is arriving. Answers how the wait ended.
  Why take_outcome() {
    marks_ = 0;
    return std::exchange(why_, 0);
  }

  Buffer* arriving = nullptr;

 private:
  static constexpr uint32_t kAny = 2;
  static constexpr uint32_t kMessage = 4;
  static constexpr uint32_t kReady = 8;  // to be resumed

  MessageRead* message_;
};

// Owned by the Stream and by the connection's context, whichever dies last.
class StreamState {
 public:
  explicit StreamState(Connection& its_connection) : connection(&its_connection), input(&its_connection.kept_input()) {}

  void received(Buffer& more);
  void peer_ended();
  void writable();
  // The connection is no more, or as good as: `why` is what later calls fail with.
  void fail(Why why);
  Why why_no_write() const;
  void connection_ended(CloseReason reason, std::error_code error);
  void shutdown_send();
  // After shutdown_send(), while what was written before may still leave.
  bool may_flush() const {
    return send_ended && connection != nullptr && connection->is_open() &&
           connection->life() != ConnectionLife::kReadingOut;
  }
  // Gives what was not read to the other, and joins the two.
  Result<void> pipe_to(StreamState& other, const PipeOptions& options, Callback<void(PipeReport)> on_done);
  // A read waits for more. While input is shown, the connection looks for itself when that is over.
  void await_input() {
    if (input == &connection->kept_input()) connection->await_input();
  }
  // What read(framing) answers when no whole message is left and no more input comes.
  Result<std::optional<Buffer>> end_of_messages();
  // As Connection::mark_refused(). Answers why_of(trouble).
  Why mark_refused(Trouble trouble) {
    if (connection != nullptr) connection->mark_refused(trouble);
    return why_of(trouble);
  }
  // The stream's own end: `how` is close() or abort(). Calls that wait fail.
  void end(void (Connection::*how)());
  // 0: it begins.
  Why start_layer(std::string_view host);
  void secured();
  // Unless others wait to: then, and when the output gets above the high-water mark, false.
  bool send(Buffer& bytes) { return writable_now && connection->send(std::move(bytes)); }
  bool send(std::string_view bytes) { return writable_now && connection->send(bytes); }
  bool send(const FileRange& range) {
    if (writable_now) connection->send_file(range);
    return send(std::string_view());
  }

  Connection* connection;  // null once gone
  Buffer* input;           // what nobody has read: the connection keeps it, is showing it, or has left it in `rest`
  Buffer rest;
  ReadWait reader;
  WaitList<WriteWait> writers;
  WaitList<FlushWait> flushers;
  WaitList<FlushWait> starters;  // of the layer
  std::optional<CloseReason> reason;
  std::shared_ptr<void> keeper;  // what the connection needs to live, and dies with it
  Why why = 0;                   // what the end of input means: 0 is the peer's FIN
  bool over = false;             // no more input
  bool writable_now = true;      // below the high-water mark and nobody waits
  bool above = false;            // the high-water mark
  bool send_ended = false;       // by shutdown_send()
  bool securing = false;         // the layer is on its way: who writes or flushes waits for it
  bool held_by_stream = true;
  bool held_by_connection = true;
  uint32_t high_water_bytes = 64 * 1024;

 private:
  bool may_be_piped() const;
  void offer_input(Buffer& more);
  // Resumes the reader if the input suffices.
  void resume_if_satisfied();
  void pump_writers();
  void pump_flushers();
  void fail_writers(Why with);
};

}  // namespace peal::detail
