// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/stream.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <peal/base/memory/memory_budget.h>

namespace peal {

namespace detail {
namespace {

// The context of a connection that a Stream uses. The connection destroys its context in any case, even if on_close was
// not called. The destructor then tells the StreamState, which the Stream may still hold, that the connection has
// ended.
struct StreamLink {
  explicit StreamLink(Connection& connection) : state(new StreamState(connection)) {}
  StreamLink(const StreamLink&) = delete;
  StreamLink& operator=(const StreamLink&) = delete;
  ~StreamLink() {
    state->connection_ended(CloseReason::kLocal, {});
    const std::shared_ptr<void> keeper = std::move(state->keeper);
    state->held_by_connection = false;
    if (!state->held_by_stream) delete state;
  }

  StreamState* const state;
};

StreamState& state_of(const Connection& connection) { return *connection.context<StreamLink>().state; }

// Returns the error for calls on a stream whose connection has ended for `reason`. `error` is Connection::error().
Why why_of(CloseReason reason, std::error_code error) {
  switch (reason) {
    case CloseReason::kLocal:
    case CloseReason::kAborted: return ESHUTDOWN;
    case CloseReason::kPeerClosed:
    case CloseReason::kReset: return ECONNRESET;
    case CloseReason::kFailed:
    case CloseReason::kTruncated:
    case CloseReason::kBadMessage: return detail::why_of(error);
    case CloseReason::kLoopStopped: return detail::why_of(Trouble::kLoopStopped);
    default: return ECONNABORTED;
  }
}

}  // namespace

// Handles the most frequent case inline: a read waits for any input, and no other coroutine runs. offer_input() handles
// all other cases.
inline void StreamState::received(Buffer& more) {
  if (!reader.takes_any() || ReadyQueue::busy()) [[unlikely]]
    return offer_input(more);
  reader.satisfied_by(more);
}

void StreamState::offer_input(Buffer& more) {
  input = &more;
  if (reader.waits()) {
    resume_if_satisfied();
  } else if (more.size() >= high_water_bytes) {
    connection->pause();
  }
  if (connection != nullptr) input = &connection->kept_input();
}

void StreamState::peer_ended() {
  over = true;
  resume_if_satisfied();
}

void StreamState::resume_if_satisfied() {
  if (!reader.waits()) return;
  if (over || reader.message() == nullptr || reader.message()->suffices()) reader.satisfied();
}

void StreamState::writable() {
  if (!connection->can_send() && !may_flush()) return fail_writers(why_of(connection->error()));
  const ReadyQueue::Hold hold;
  above = false;
  pump_writers();
  pump_flushers();
}

void StreamState::pump_writers() {
  while (WriteWait* writer = writers.front()) {
    if ((writer->marks_ & WriteWait::kQueued) == 0) {
      writer->marks_ |= WriteWait::kQueued;
      if (!writer->send()) {
        above = true;
        return;
      }
    }
    writers.remove(*writer);
    writer->complete(0);
  }
  writable_now = !send_ended;
}

void StreamState::pump_flushers() {
  // If a waiting write has given its bytes to the connection just now, the flushes must wait for these bytes, too.
  // report_drained() makes the connection call on_writable again when the kernel has taken all queued bytes.
  if (!flushers.empty() && connection->queued_bytes() > 0) return connection->report_drained();
  while (FlushWait* flusher = flushers.pop_front()) flusher->complete(0);
}

Why StreamState::start_layer(std::string_view host) {
  if (const Why refused = why_no_write(); refused != 0) return refused;
  if (!connection->start_layer(host)) return EALREADY;
  if (reader.message() != nullptr) reader.message()->search_anew();
  securing = above = true;
  writable_now = over = false;
  return 0;
}

void StreamState::secured() {
  securing = false;
  const ReadyQueue::Hold hold;
  while (FlushWait* starter = starters.pop_front()) starter->complete(0);
  writable();
}

void StreamState::fail(Why with) {
  securing = false;
  if (!over || why == 0) why = with;
  over = true;
  const ReadyQueue::Hold hold;
  resume_if_satisfied();
  fail_writers(why);
}

void StreamState::fail_writers(Why with) {
  writable_now = false;
  const ReadyQueue::Hold hold;
  while (WriteWait* writer = writers.pop_front()) writer->complete(with);
  for (auto* line : {&flushers, &starters}) {
    while (FlushWait* waiting = line->pop_front()) waiting->complete(with);
  }
}

Why StreamState::why_no_write() const {
  if (connection != nullptr && (securing || connection->can_send())) return 0;
  if (why != 0) return why;
  if (connection == nullptr) return why_of(*reason, {});
  if (connection->error()) return why_of(connection->error());
  return send_ended ? ESHUTDOWN : ECONNABORTED;
}

void StreamState::connection_ended(CloseReason its_reason, std::error_code error) {
  if (connection == nullptr) return;
  // If memory is short, the unread input is dropped and not kept in `rest`. The process ends connections in order to
  // free memory, and the task could keep the input for a long time.
  const bool short_of_memory = its_reason == CloseReason::kMemoryBudget || MemoryBudget::above_hard();
  if (!short_of_memory) rest = std::move(connection->kept_input());
  input = &rest;
  connection = nullptr;
  reason = its_reason;
  fail(why_of(its_reason, error));
  // If the peer has closed the connection in order, reads report the end of the input and no error. So the error that
  // fail() has stored in `why` is cleared. After pipe_to() this is also done, although peer_ended() was not called,
  // because the pipe has received the peer's FIN.
  if (its_reason == CloseReason::kPeerClosed) why = 0;
}

void StreamState::shutdown_send() {
  if (connection == nullptr || securing || !connection->can_send()) return;
  const ReadyQueue::Hold hold;
  send_ended = true;
  writable_now = false;
  // If a waiting write is marked kQueued, the connection already has its bytes, and the write succeeds. The other
  // waiting writes fail. The connection does not end here and can still receive.
  while (WriteWait* writer = writers.pop_front()) {
    writer->complete((writer->marks_ & WriteWait::kQueued) != 0 ? 0 : ESHUTDOWN);
  }
  connection->shutdown_send();
}

bool StreamState::may_be_piped() const {
  PEAL_ASSERT(reader.idle() && writers.empty(), "a stream is piped while a coroutine waits in it, {} bytes unread",
              input->size());
  return connection != nullptr && connection->is_open() && (connection->can_send() || send_ended);
}

Result<void> StreamState::pipe_to(StreamState& other, const PipeOptions& options, Callback<void(PipeReport)> on_done) {
  if (!may_be_piped() || !other.may_be_piped()) return peal::fail(ENOTCONN);
  if (&connection->loop() != &other.connection->loop()) return peal::fail(EXDEV);
  // The callback `done` holds the owner (Client or Server) of each connection. If an owner were destroyed before the
  // pipe ends, `on_done` would never be called.
  auto done = [keepers = std::array{keeper, other.keeper}, on_done = std::move(on_done)](PipeReport report) mutable {
    on_done(report);
  };
  return pipe(*connection, *other.connection, options, std::move(done));
}

Result<std::optional<Buffer>> StreamState::end_of_messages() {
  if (why != 0) return failed(why);
  if (!input->empty()) return failed(mark_refused(Trouble::kTruncated));
  return std::optional<Buffer>();
}

void StreamState::end(void (Connection::*how)()) {
  if (connection == nullptr) return;
  (connection->*how)();
  fail(ESHUTDOWN);
}

void WriteWait::cancel(Why why) noexcept {
  state_.writers.remove(*this);
  if (state_.writers.empty() && !state_.above) state_.writable_now = state_.connection != nullptr;
  complete(why);
}

// Called after StreamState::send() has returned false. There are two cases:
// - `writable_now` is true: send() has given the bytes to the connection, and the output is now above the high-water
//   mark. The write is marked kQueued, and waits only until the output is below the mark.
// - `writable_now` is false: send() has not given the bytes to the connection. The write waits until pump_writers()
//   sends its bytes.
bool WriteWait::prepare_to_wait() {
  why_ = state_.why_no_write();
  if (why_ != 0) return false;
  if (state_.writable_now) marks_ |= kQueued;
  state_.above = state_.above || state_.writable_now;
  state_.writable_now = false;
  return true;
}

bool FlushWait::await_ready() {
  if (why_ == 0 && !state_.may_flush()) why_ = state_.why_no_write();
  if (why_ != 0) return true;
  return !state_.securing && state_.writers.empty() && state_.connection->queued_bytes() == 0;
}

SharedConnectionCallbacks stream_callbacks(SharedCallback<void(Connection&, StreamState&)> take) {
  SharedConnectionCallbacks callbacks;
  callbacks.on_open = [take = std::move(take)](Connection& connection) {
    StreamLink& link = connection.emplace_context<StreamLink>(connection);
    connection.keep_context();
    take(connection, *link.state);
  };
  callbacks.on_message = [](Connection& connection, Buffer& input) { state_of(connection).received(input); };
  callbacks.on_writable = [](Connection& connection) { state_of(connection).writable(); };
  callbacks.on_peer_end = [](Connection& connection) { state_of(connection).peer_ended(); };
  callbacks.awaits_input = [](const Connection& connection) { return state_of(connection).reader.waits(); };
  callbacks.on_secured = [](Connection& connection) { state_of(connection).secured(); };
  callbacks.on_close = [](Connection& connection, CloseReason reason) {
    state_of(connection).connection_ended(reason, connection.error());
  };
  return callbacks;
}

}  // namespace detail

bool StreamReadMessage::suffices() {
  Buffer& input = *state_.input;
  if (delimiter_.empty()) {
    if (input.size() >= bytes_) found_ = bytes_;
    return found_ > 0 || bytes_ == 0 || bytes_ == kNoDelimiter;
  }
  // If the first block of the input holds the delimiter, only that block is searched. Otherwise view() joins the blocks
  // into one piece, which copies them. If the blocks were always joined, each line would be copied.
  const bool in_front = input.front().find(delimiter_, searched_) != std::string_view::npos;
  const std::string_view view = input.view(std::min(in_front ? input.front().size() : input.size(), bytes_));
  const size_t at = view.find(delimiter_, searched_);
  if (at != std::string_view::npos) found_ = at + delimiter_.size();
  searched_ = view.size() < delimiter_.size() ? 0 : view.size() - delimiter_.size() + 1;
  too_long_ = found_ == 0 && view.size() == bytes_;
  return found_ > 0 || too_long_;
}

Result<Buffer> StreamReadMessage::await_resume() {
  if (const detail::Why why = state_.reader.take_outcome(); why != 0) return detail::failed(why);
  if (found_ > 0) return state_.input->take(found_);
  if (too_long_) return fail(EMSGSIZE);
  if (delimiter_.empty() && bytes_ == kNoDelimiter) return fail(EINVAL);
  if (delimiter_.empty() && bytes_ == 0) return Buffer();
  if (state_.why != 0) return detail::failed(state_.why);
  if (!state_.input->empty()) return fail(ENODATA);
  return Buffer();
}

ConnectionHandle Stream::handle() const {
  return state_->connection == nullptr ? ConnectionHandle() : state_->connection->handle();
}

void Stream::Leave::operator()(detail::StreamState* state) const {
  PEAL_ASSERT(state->reader.idle() && state->writers.empty() && state->flushers.empty() && state->starters.empty(),
              "a stream is destroyed while a coroutine waits in it, {} bytes unread", state->input->size());
  if (state->connection != nullptr) {
    state->connection->close();
    state->connection->kept_input().clear();  // no coroutine can read the rest any more
  }
  state->held_by_stream = false;
  if (!state->held_by_connection) delete state;
}

}  // namespace peal
