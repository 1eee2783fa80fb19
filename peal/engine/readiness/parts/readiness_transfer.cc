// SPDX-License-Identifier: BSD-3-Clause
// ReadinessEngine: waiting and moving bytes. This is the hot path, so it is one translation unit. Opening and closing
// streams is in readiness_engine.cc.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/engine/readiness/parts/readiness_engine.h>

namespace peal::detail {

// Sends queued output until the queue is empty or the kernel's send buffer is full. Returns false if the stream is
// closed or detached afterwards.
[[gnu::always_inline]] inline bool ReadinessEngine::flush(Stream& stream) {
  stream.dirty = false;
  if (stream.output != 0 || !stream.out.is_one_part()) [[unlikely]]
    return flush_rest(stream, 0, 0);
  std::string_view front = stream.out.only_part();
  if (batches_sends_ && front.size() <= Poller::kMostSentBytes && sends_in_flight_ < kMostSendsInFlight) {
    return send_in_batch(stream, front);
  }
  ssize_t count = ::send(stream.fd, front.data(), front.size(), MSG_NOSIGNAL);
  ++stats_.sends;
  if (count != static_cast<ssize_t>(front.size())) [[unlikely]]
    return flush_rest(stream, count, front.size());
  stats_.sent_bytes += front.size();
  stream.out.clear_only_part();
  return true;
}

// Gives a small output to the poller, which sends it together with others. finish_send() is called when the outcome is
// known.
bool ReadinessEngine::send_in_batch(Stream& stream, std::string_view bytes) {
  ++sends_in_flight_;
  stream.output = kInFlight;
  stream.in_flight_bytes = static_cast<uint16_t>(bytes.size());
  poller_->send(stream.fd, key(stream), bytes);
  return true;
}

// Reads once into one block and delivers the bytes. Used if at most one block of input is expected. Returns true if the
// stream should be read again at once.
[[gnu::always_inline]] inline bool ReadinessEngine::read_once(Stream& stream) {
  Block* block = pool_->acquire(kLargeBlockBytes);
  const ssize_t count = ::recv(stream.fd, block->data, kLargeBlockBytes, 0);
  if (count <= 0) [[unlikely]] {
    const int error = count == 0 ? 0 : errno;
    pool_->unref(block);
    return read_failed(stream, error);
  }
  const auto size = static_cast<uint32_t>(count);
  return deliver(stream, Buffer(block, 0, size), size, size == kLargeBlockBytes);
}

// Reads once into several blocks and delivers the bytes. Used after a read that filled its block. Returns true if the
// stream should be read again at once.
bool ReadinessEngine::read_much(Stream& stream) {
  msghdr message{};
  Buffer bytes;
  const ssize_t count = receive_blocks(stream.fd, message, kMostReceiveBytes, bytes);
  if (count <= 0) return read_failed(stream, count == 0 ? 0 : errno);
  return deliver(stream, std::move(bytes), static_cast<size_t>(count), count == kMostReceiveBytes);
}

// Delivers the bytes that a read has brought, then flushes the stream's output. `full` is true if the read filled all
// the room that it had. Returns true if the stream should be read again at once.
[[gnu::always_inline]] inline bool ReadinessEngine::deliver(Stream& stream, Buffer bytes, size_t size, bool full) {
  const uint32_t generation = stream.generation;
  ++stats_.receives;
  stats_.received_bytes += size;
  delivering_ = &stream;
  delivering_id_ = {stream.slot, generation};
  stream.events->on_received(bytes);
  delivering_ = nullptr;
  delivering_id_ = kNobody;
  if (stream.generation != generation || (stream.dirty && !flush(stream))) [[unlikely]]
    return false;
  // A read that did not fill its room has emptied the socket, so the stream is usually not read again. The exception is
  // a stream with kHungUp, for which the poller has reported a hang-up, an error or urgent data. The end of its input
  // may follow without another edge, so it must be read again.
  if (!full && stream.input == kReceiving) [[likely]]
    return false;
  if (!full && !(stream.input & kHungUp)) {
    stream.input &= static_cast<uint8_t>(~kUnread);
    return false;
  }
  stream.input |= kUnread;
  return (stream.input & kReceiving) != 0;
}

[[gnu::always_inline]] inline void ReadinessEngine::dispatch(const PollEvent& event) {
  Stream* stream = (event.key & kKindMask) == kStream ? stream_of(event.key) : nullptr;
  if (stream != nullptr && only_readable(*stream, event.readiness) && stream->input == kReceiving &&
      static_cast<uint16_t>(stream->generation) == event.key >> kGenerationShift) [[likely]] {
    if (read_once(*stream)) [[unlikely]]
      read_turn(*stream, true);
  } else if ((event.readiness & kSent) != 0) {
    if (static_cast<uint16_t>(stream->generation) == event.key >> kGenerationShift)
      finish_send(*stream, event.readiness);
  } else {
    dispatch_rest(event);
  }
  flush_dirty();
}

// Dispatches the events of a wait if note_waits() was called, or if the poller can batch sends and there are at least
// two events. While further events of this turn
// follow, small sends are given to the poller, which needs one system call for several of them. Output that the last
// event causes is sent at once.
void ReadinessEngine::dispatch_measured_or_batched(size_t count) {
  if (woke_at_ != nullptr) *woke_at_ = monotonic_now();
  for (size_t i = 0; i < count; ++i) {
    batches_sends_ = i + 1 < count && poller_->takes_sends();
    dispatch(events_[i]);
  }
}

size_t ReadinessEngine::wait(TimePoint deadline) {
  if (unfinished_) [[unlikely]]
    deadline = prepare_wait(deadline);
  ++stats_.waits;
  size_t count = poller_->wait(events_, deadline);
  stats_.events += count;
  if (count >= measured_or_batched_from_) {
    dispatch_measured_or_batched(count);
  } else {
    for (size_t i = 0; i < count; ++i) dispatch(events_[i]);
  }
  if (unfinished_) [[unlikely]]
    count += finish_turn();
  return count;
}

// Called before the poller's wait if `unfinished_` is true, because the engine then has work of its own. Runs the tasks
// of before_wait(), flushes streams, and takes the streams that are on the ready list now. A stream that joins the list
// later is served a turn later. Returns the deadline for the poller's wait.
TimePoint ReadinessEngine::prepare_wait(TimePoint deadline) {
  called_back_ = false;
  const TimePoint began = worked_ == nullptr ? TimePoint() : monotonic_now();
  run_before_wait();
  flush_all();
  if (worked_ != nullptr) *worked_ += monotonic_now() - began;
  // If a callback was called above, it may have set a timer that ends before `deadline`, so the wait must not block.
  const bool busy = called_back_ || has_work();
  // If `unfinished_` is true, wait() calls finish_turn(), which counts the callback in the result of wait().
  unfinished_ = unfinished_ || called_back_;
  serving_.swap(ready_);
  return busy ? kPollOnly : std::min(deadline, listeners_.next_resume());
}

void ReadinessEngine::run_before_wait() {
  for (auto& task : std::exchange(before_wait_, {})) called_back_ = task() || called_back_;
}

// Ends a turn in which the engine has work besides the poller's events. Resumes listeners, reads the streams that were
// on the ready list, sends queued output and delivers last completions. wait() adds the result to the number of events
// that it returns.
size_t ReadinessEngine::finish_turn() {
  listeners_.resume(monotonic_now());
  size_t count = serve_ready_list();
  flush_all();
  serve_put_off();
  count += deliver_last_completions();
  update_unfinished();
  return count + (std::exchange(called_back_, false) ? 1 : 0);
}

bool ReadinessEngine::has_work() const {
  return !ready_.empty() || !serving_.empty() || !dirty_.empty() || !put_off_.empty() || !last_completions_.empty() ||
         !before_wait_.empty() || listeners_.has_last_completions();
}

void ReadinessEngine::update_unfinished() { unfinished_ = has_work() || listeners_.next_resume() != kNever; }

// Handles an event of a stream for which dispatch() has no fast path, for example because the event reports more than
// input, or because receiving is off.
void ReadinessEngine::stream_ready(Stream& stream, uint32_t readiness) {
  if (readiness & kRegistrationLost) poller_->modify(stream.fd, key(stream), stream.interest, edge_);
  if (readiness & (kReadable | kHangup)) stream.input |= kUnread;
  if (readiness & kHangup) stream.input |= kHungUp;
  if (readiness & POLLERR) stream.input |= kGone;
  if (stream.output & kConnecting) return finish_connect(stream, take_socket_error(stream.fd));
  if ((stream.output & kStalled) && (readiness & (kWritable | kBroken))) {
    stream.output &= static_cast<uint16_t>(~kStalled);
    if (!edge_) update_interest(stream);
    make_dirty(stream);
  }
  if (!(readiness & (kReadable | kHangup))) return;
  if (!edge_ && !(stream.interest & kReadable)) {
    stream.end_reported = true;
    update_interest(stream);
  }
  if ((stream.input & (kReceiving | kListed | kWaiting)) == kReceiving) return read_turn(stream, false);
  if (!(stream.input & kReceiving)) report_if_gone(stream);
}

// Called when an event came while receiving was off. Calls on_gone() if the connection has failed:
// - If a read would now fail, the error is taken out of the socket and kept in pending_error. on_gone() gets this
//   error.
// - If there is still input to read before the error, on_gone() gets no error.
// If only data or a FIN has arrived, nothing is called.
void ReadinessEngine::report_if_gone(Stream& stream) {
  const bool known = (stream.input & kGone) != 0;
  if ((edge_ && !known) || queued(stream) > 0) return;
  const bool early = pending_deliveries_.contains(stream.slot);
  if (stream.pending_error == 0) {
    char next = 0;
    const ssize_t left = early ? 1 : ::recv(stream.fd, &next, 1, MSG_PEEK);
    int error = left < 0 && errno != EAGAIN ? errno : 0;
    if (left == 0 && known) error = take_socket_error(stream.fd).value();
    if (error == 0 && (left <= 0 || !known)) return;
    stream.input |= kGone;
    stream.pending_error = error;
  }
  const int error = early ? 0 : stream.pending_error;
  stream.events->on_gone(error == 0 ? std::error_code{} : errno_code(error));
}

void ReadinessEngine::receive(StreamId id, bool on) {
  Stream* stream = find(id);
  if (stream == nullptr || (stream->output & kDetach)) return;
  if (!on && (stream->input & kForwarding)) end_forward(*forwards_.at(id.slot));
  bool receiving = on && !(stream->input & kInputOver);
  if (!on && (stream->input & (kReceiving | kGone)) == (kReceiving | kGone)) list_ready(*stream);
  stream->input = static_cast<uint8_t>(receiving ? stream->input | kReceiving : stream->input & ~kReceiving);
  stream->end_reported = stream->end_reported && !receiving;
  if (!edge_) update_interest(*stream);
  if (receiving && (stream->input & kUnread)) list_ready(*stream);
}

// Computes what the stream waits for now, and gives it to the poller if it has changed. Without this, a level-triggered
// poller would report in every wait what the stream does not want. For an edge-triggered poller the interest only
// grows.
void ReadinessEngine::update_interest(Stream& stream) {
  if (!stream.polled) return;
  uint32_t interest = edge_ ? stream.interest : 0U;
  if ((stream.input & (kReceiving | kWaiting)) == kReceiving) interest |= kReadable;
  if (stream.output & kStalled) interest |= kWritable;
  if (!edge_ && !stream.end_reported && !(stream.input & kInputOver)) interest |= kFailed;
  if (interest == stream.interest) return;
  stream.interest = static_cast<uint8_t>(interest);
  poller_->modify(stream.fd, key(stream), interest, edge_);
}

void ReadinessEngine::list_ready(Stream& stream) {
  if (stream.input & kListed) return;
  stream.input |= kListed;
  ready_.push_back(&stream);
  unfinished_ = true;
}

// Serves the streams that prepare_wait() took from the ready list. A stream that was closed since then has lost
// kListed. A new stream in its slot has kListed only if it was put on the list itself.
size_t ReadinessEngine::serve_ready_list() {
  size_t count = serving_.size();
  for (Stream* stream : serving_) {
    if (!(stream->input & kListed)) continue;
    stream->input &= static_cast<uint8_t>(~kListed);
    const bool wanted = (stream->input & kReceiving) != 0 || (stream->output & kConnecting) != 0;
    if (wanted && stream->pending_error != 0) {
      if (pending_deliveries_.empty() || (stream->output & kConnecting) || deliver_pending(*stream))
        end_with_pending(*stream);
    } else if ((stream->input & (kReceiving | kUnread)) == (kReceiving | kUnread)) {
      if (pending_deliveries_.empty() || deliver_pending(*stream)) read_turn(*stream, false);
    } else if (!wanted) {
      report_if_gone(*stream);
    }
    flush_dirty();
  }
  serving_.clear();
  return count;
}

void ReadinessEngine::end_with_pending(Stream& stream) {
  const std::error_code error = errno_code(std::exchange(stream.pending_error, 0));
  if (stream.output & kConnecting) return finish_connect(stream, error);
  stream.input = static_cast<uint8_t>((stream.input | kInputOver) & ~kReceiving);
  if (!edge_) update_interest(stream);
  stream.events->on_receive_end(error);
}

// Reads until the socket is empty or the stream has received kReceiveTurnBytes. In the second case other streams are
// served first, and this stream continues in the next turn. `more` is true if a read has filled its block already.
void ReadinessEngine::read_turn(Stream& stream, bool more) {
  for (size_t taken = kMostReceiveBytes; taken <= kReceiveTurnBytes; taken += kMostReceiveBytes) {
    if (stream.input & kForwarding) return forward_turn(stream);
    if (!(more ? read_much(stream) : read_once(stream))) return;
    more = true;
  }
  list_ready(stream);
}

// Handles a read that brought no bytes. `error` is the errno of the read; 0 stands for the end of the input. Returns
// true if the read was interrupted and should be tried again.
bool ReadinessEngine::read_failed(Stream& stream, int error) {
  if (error == EINTR) return true;
  stream.input &= static_cast<uint8_t>(~kUnread);
  if (error == EAGAIN) return false;
  stream.input = static_cast<uint8_t>((stream.input | kInputOver) & ~kReceiving);
  if (!edge_) update_interest(stream);
  stream.events->on_receive_end(error == 0 ? std::error_code{} : errno_code(error));
  return false;
}

size_t ReadinessEngine::send(StreamId id, Buffer&& bytes) {
  if (id == delivering_id_) [[likely]] {
    Stream& stream = *delivering_;
    if (stream.output == 0 && !stream.out.holds_blocks()) [[likely]] {
      stream.dirty = true;
      stream.out.adopt(std::move(bytes));
      return stream.out.size();
    }
  }
  return send_to_any(id, bytes);
}

size_t ReadinessEngine::send_to_any(StreamId id, Buffer& bytes) {
  Stream* stream = find(id);
  if (stream == nullptr || (stream->output & kOutputOver)) return 0;
  if (stream->output & kFiles) {
    files_.at(id.slot).append(std::move(bytes));
    return held_bytes(*stream);
  }
  stream->out.append(std::move(bytes));
  make_dirty(*stream);
  return stream->out.size();
}

size_t ReadinessEngine::send_copy(StreamId id, std::string_view bytes) {
  Stream* stream = find(id);
  if (stream == nullptr) return 0;
  if (stream->output & (kOutputOver | kFiles)) [[unlikely]]
    return send_copy_after_files(*stream, bytes);
  stream->out.append(bytes);
  make_dirty(*stream);
  return stream->out.size();
}

size_t ReadinessEngine::send_copy_after_files(Stream& stream, std::string_view bytes) {
  if (stream.output & kOutputOver) return 0;
  files_.at(stream.slot).append(bytes);
  return held_bytes(stream);
}

// Flushes the streams that are dirty when the function is called. Output that callbacks queue meanwhile waits for the
// next call. Otherwise a stream that is refilled as fast as it drains could occupy the loop for ever.
void ReadinessEngine::flush_all() {
  size_t count = dirty_.size();
  for (size_t i = 0; i < count; ++i) {
    if (dirty_[i]->dirty) flush(*dirty_[i]);
  }
  dirty_.erase(dirty_.begin(), dirty_.begin() + static_cast<ptrdiff_t>(count));
  update_unfinished();
}

// Handles the outcome of a send that the poller has made. If that send took the whole queue, the queue is cleared.
// Otherwise flush_rest() handles the outcome and the rest of the output.
void ReadinessEngine::finish_send(Stream& stream, uint32_t outcome) {
  const auto count = static_cast<uint16_t>(outcome & kSendOutcomeMask);
  const bool failed = (outcome & kSendFailed) != 0;
  ++stats_.sends;
  --sends_in_flight_;
  stream.output &= static_cast<uint16_t>(~kInFlight);
  if (!failed && count == stream.in_flight_bytes && stream.output == 0 && stream.out.size() == count) [[likely]] {
    stats_.sent_bytes += count;
    return stream.out.clear();
  }
  errno = failed ? count : 0;
  flush_rest(stream, failed ? -1 : count, stream.in_flight_bytes);
}

}  // namespace peal::detail
