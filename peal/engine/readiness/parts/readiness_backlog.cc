// SPDX-License-Identifier: BSD-3-Clause
// ReadinessEngine: output that one send did not finish. It handles queues of several parts, files and failures, and
// reports progress. All streams together send at most kBulkTurnBytes of such output in a turn.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include <peal/engine/readiness/parts/readiness_engine.h>

namespace peal::detail {

// Sends the output that was queued before shut(), without regard for the budget of a turn. The number of rounds is
// limited, because a peer may read a huge file as fast as it is sent.
void ReadinessEngine::flush_before_shut() {
  constexpr int kMostTurns = 1000;
  run_before_wait();
  flush_all();
  for (int turn = 0; turn < kMostTurns && !put_off_.empty(); ++turn) {
    serve_put_off();
    flush_all();
  }
  if (has_poller_send_) finish_sends_in_flight();
}

// Submits the sends that were given to the poller, takes their outcomes, and sends what is queued after them. All other
// events are dropped, because the engine is being shut.
void ReadinessEngine::finish_sends_in_flight() {
  for (bool more = true; more;) {
    const size_t count = poller_->wait(events_, TimePoint::min());
    more = count == events_.size();
    for (size_t i = 0; i < count; ++i) {
      if ((events_[i].readiness & kSent) == 0) continue;
      more = true;
      Stream& stream = *stream_of(events_[i].key);
      if (static_cast<uint16_t>(stream.generation) == events_[i].key >> kGenerationShift) {
        finish_send(stream, events_[i].readiness);
      }
    }
  }
}

// Does what flush() cannot do: sends several parts, files or a pipe, and handles a short or failed send. `sent` is the
// result of a send of `offered_bytes` bytes that was already made. If none was made, the caller passes 0 for both.
bool ReadinessEngine::flush_rest(Stream& stream, ssize_t sent, size_t offered_bytes) {
  if (stream.output & (kStalled | kInFlight | kPutOff)) return true;
  int error = 0;
  bool progress = sent > 0;
  if (offered_bytes > 0) error = take_send_result(stream, sent, offered_bytes);
  if (stream.output & kFed) error = drain_feed(stream, progress);
  if (error == 0) error = send_queue(stream, progress);
  if (error != 0 && !fail_output(stream, error)) return false;
  if (stream.output & kStalled) {
    update_interest(stream);
  } else if (stream.out.holds_blocks() || (stream.output & kFiles)) {
    put_off(stream);
  }
  if (stream.output & kFed) resume_feeder(stream);
  if (!(stream.output & (kReportSent | kSendFin | kDetach))) return true;
  return after_output(stream, progress);
}

// Sends the queue until it is empty, the kernel takes no more, or the bulk budget is used up. Files count against the
// budget, and so does every send of bytes in memory except the first one. Returns 0, or the errno after which nothing
// more can be sent.
int ReadinessEngine::send_queue(Stream& stream, bool& progress) {
  const bool has_turn = put_off_.empty() || serving_put_off_;
  size_t budget = has_turn ? std::min(bulk_budget_, put_off_.empty() ? kBulkTurnBytes : kBulkShareBytes) : 0;
  const size_t before = budget;
  int error = 0;
  if (stream.out.holds_blocks()) error = send_parts(stream, progress);
  while (error == 0 && budget > 0 && !(stream.output & kStalled)) {
    if (stream.out.holds_blocks()) {
      const size_t queued_bytes = stream.out.size();
      error = send_parts(stream, progress);
      budget -= std::min(budget, queued_bytes - stream.out.size());
    } else if (stream.output & kFiles) {
      error = send_front_file(stream, budget, progress);
    } else {
      break;
    }
  }
  if (before != budget) {
    bulk_budget_ -= before - budget;
    unfinished_ = true;  // Makes wait() call finish_turn(), which restores the budget.
  }
  return error;
}

void ReadinessEngine::put_off(Stream& stream) {
  stream.output |= kPutOff;
  put_off_.push_back({stream.slot, stream.generation});
  unfinished_ = true;
}

// Called at the end of a turn. Serves the streams that wait for bulk budget, the longest waiting first, until the
// budget of this turn is used up. Then restores the budget for the next turn.
void ReadinessEngine::serve_put_off() {
  serving_put_off_ = true;
  for (size_t count = put_off_.size(); count > 0 && bulk_budget_ > 0; --count) {
    const StreamId id = put_off_.front();
    put_off_.pop_front();
    Stream* stream = streams_.find(id.slot, id.generation);
    if (stream == nullptr || !(stream->output & kPutOff)) continue;
    stream->output &= static_cast<uint16_t>(~kPutOff);
    flush_rest(*stream, 0, 0);
  }
  serving_put_off_ = false;
  bulk_budget_ = kBulkTurnBytes;
}

int ReadinessEngine::send_parts(Stream& stream, bool& progress) {
  std::array<iovec, kMaxParts> parts;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = stream.out.gather(parts);
  size_t offered = 0;
  for (size_t i = 0; i < message.msg_iovlen; ++i) offered += parts[i].iov_len;
  // If a file range follows these bytes, MSG_MORE makes the kernel wait for bytes of the file before it sends less than
  // a whole segment.
  const int more = stream.output & kFiles ? MSG_MORE : 0;
  ssize_t count = ::sendmsg(stream.fd, &message, MSG_NOSIGNAL | more);
  ++stats_.sends;
  progress = progress || count > 0;
  return take_send_result(stream, count, offered);
}

// Updates the queue and the counters after one send of `offered_bytes` bytes. `count` is the result of the system call.
// Returns 0, or the errno after which nothing more can be sent.
int ReadinessEngine::take_send_result(Stream& stream, ssize_t count, size_t offered_bytes) {
  if (count < 0) {
    if (errno == EINTR) return 0;
    if (errno != EAGAIN) return errno;
    count = 0;
  }
  auto sent = static_cast<size_t>(count);
  stats_.sent_bytes += sent;
  stream.out.consume(sent);
  if (sent == offered_bytes) return 0;
  // The kernel has taken less than it was offered, so it has marked the socket as short of space. An edge-triggered
  // poller will therefore report when there is room again.
  stream.output |= kStalled;
  ++stats_.short_sends;
  stream.out.compact();
  return 0;
}

// Drops the queued output and calls on_send_failed(). Returns false if that callback closed the stream.
bool ReadinessEngine::fail_output(Stream& stream, int error) {
  uint32_t generation = stream.generation;
  drop_output(stream);
  stream.output = static_cast<uint16_t>((stream.output | kOutputOver) & ~kSendFin);
  called_back_ = true;
  stream.events->on_send_failed(errno_code(error));
  return stream.generation == generation;
}

// Called when output was sent or the queue is empty. Sends FIN, calls on_sent() and detaches the stream, each if it is
// due. Returns false if the stream is closed or detached afterwards.
bool ReadinessEngine::after_output(Stream& stream, bool progress) {
  size_t left = queued(stream);
  if (left == 0 && (stream.output & kSendFin)) {
    stream.output &= static_cast<uint16_t>(~kSendFin);
    ::shutdown(stream.fd, SHUT_WR);
  }
  if ((stream.output & kReportSent) && (progress || left == 0)) {
    if (left == 0) stream.output &= static_cast<uint16_t>(~kReportSent);
    uint32_t generation = stream.generation;
    called_back_ = true;
    stream.events->on_sent(left);
    if (stream.generation != generation) return false;
  }
  if (!(stream.output & kDetach) || queued(stream) > 0) return true;
  release_stream(stream, true);
  return false;
}

}  // namespace peal::detail
