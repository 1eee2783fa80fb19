// SPDX-License-Identifier: BSD-3-Clause
// ReadinessEngine: bytes that are moved inside the kernel, namely file ranges and forwarded streams.
//
// A stream's output is sent in this order: bytes in the pipe that feeds it, its blocks, then each file range with the
// bytes queued after it. The pipe is filled again only when all of that has been sent.
#include <algorithm>
#include <cerrno>

#include <peal/base/assert.h>
#include <peal/engine/readiness/parts/readiness_engine.h>

namespace peal::detail {

void ReadinessEngine::send_file(StreamId id, FileRange range) {
  Stream* stream = find(id);
  if (stream == nullptr || (stream->output & kOutputOver) || range.bytes == 0) return;
  files_[id.slot].push(std::move(range));
  stream->output |= kFiles;
  make_dirty(*stream);
}

// Sends bytes of the first queued file range. Returns 0, or the errno after which nothing more can be sent. A short
// count does not mean that the socket is full, because sendfile(2) may stop where the cached part of the file ends.
// Only EAGAIN means that the socket is full.
int ReadinessEngine::send_front_file(Stream& stream, size_t& budget, bool& progress) {
  FileQueue& files = files_.at(stream.slot);
  TransferResult moved = files.send(stream.fd, budget);
  ++stats_.sends;
  if (moved.error == EAGAIN) {
    stream.output |= kStalled;
    ++stats_.short_sends;
    return 0;
  }
  if (moved.error != 0) return moved.error;
  stats_.sent_bytes += moved.bytes;
  stats_.file_bytes += moved.bytes;
  budget -= moved.bytes;
  progress = true;
  if (!files.front_is_out()) return 0;
  stream.out = files.pop();
  if (!files.empty()) return 0;
  files_.erase(stream.slot);
  stream.output &= static_cast<uint16_t>(~kFiles);
  return 0;
}

size_t ReadinessEngine::queued(const Stream& stream) const {
  size_t bytes = stream.out.size();
  if (stream.output & kFiles) bytes += files_.at(stream.slot).bytes();
  if (stream.output & kFed) bytes += feeds_.at(stream.slot)->pipe.held_bytes();
  return bytes;
}

void ReadinessEngine::drop_output(Stream& stream) {
  stream.out.clear();
  if (stream.output & kFiles) files_.erase(stream.slot);
  stream.output &= static_cast<uint16_t>(~(kFiles | kPutOff));
  if (!(stream.output & kFed)) return;
  std::shared_ptr<Forward> feed = feeds_.at(stream.slot);
  feed->pipe.close();
  end_forward(*feed);
}

bool ReadinessEngine::forward(StreamId from_id, StreamId to_id) {
  Stream* from = find(from_id);
  Stream* to = find(to_id);
  if (from == nullptr || to == nullptr || from == to) return false;
  bool can_give = from->polled && !(from->input & (kInputOver | kForwarding)) &&
                  !(from->output & (kConnecting | kDetach)) && !pending_deliveries_.contains(from_id.slot);
  bool can_take =
      to->polled && !to->out.holds_blocks() && !(to->output & (kConnecting | kOutputOver | kFiles | kFed | kDetach));
  if (!can_give || !can_take) return false;
  std::shared_ptr<Forward>& forward = forwards_[from_id.slot];
  if (forward == nullptr) forward = std::make_shared<Forward>();
  // The pipe is still open if bytes of an earlier forwarding have not been sent. open() fails if the system has no pipe
  // left.
  if (forward->pipe.is_open() || !forward->pipe.open()) return false;
  forward->from = from_id;
  forward->to = to_id;
  feeds_[to_id.slot] = forward;
  to->output |= kFed;
  from->input |= kReceiving | kForwarding | kUnread;
  if (!edge_) update_interest(*from);
  list_ready(*from);
  return true;
}

uint64_t ReadinessEngine::forwarded_bytes(StreamId id) const {
  if (find(id) == nullptr) return 0;
  auto forward = forwards_.find(id.slot);
  return forward == forwards_.end() ? 0 : forward->second->bytes;
}

// Moves bytes from `from` to the stream that it is forwarded to. Ends when the socket of `from` is empty, the other
// stream takes no more, or kReceiveTurnBytes were moved.
void ReadinessEngine::forward_turn(Stream& from) {
  const uint32_t generation = from.generation;
  for (size_t taken = 0; taken < kReceiveTurnBytes;) {
    Forward& forward = *forwards_.at(from.slot);
    Stream& to = streams_[forward.to.slot];
    if ((to.output & kStalled) || queued(to) > 0) {
      from.input |= kWaiting | kUnread;
      if (!edge_) update_interest(from);
      return;
    }
    TransferResult moved = forward.pipe.fill(from.fd);
    if (moved.bytes == 0) {
      if (moved.error != EAGAIN) end_forward(forward);
      read_failed(from, moved.error);
      return;
    }
    taken += moved.bytes;
    forward.bytes += moved.bytes;
    stats_.forwarded_bytes += moved.bytes;
    // flush_rest() may call the owner of `to`. The owner may do anything, for example close `from`.
    flush_rest(to, 0, 0);
    if (from.generation != generation || !(from.input & kForwarding)) return;
  }
  list_ready(from);
}

// Sends the bytes that are in the pipe from which `to` is fed. Returns 0, or the errno after which nothing more can be
// sent.
int ReadinessEngine::drain_feed(Stream& to, bool& progress) {
  Splicer& pipe = feeds_.at(to.slot)->pipe;
  while (pipe.held_bytes() > 0) {
    TransferResult moved = pipe.drain(to.fd);
    if (moved.error == EAGAIN) {
      to.output |= kStalled;
      return 0;
    }
    if (moved.error != 0) return moved.error;
    progress = true;
  }
  return 0;
}

// Called when output of `to` was sent. Lets the stream that is forwarded to `to` continue. If that stream has ended and
// the pipe is empty, ends the forwarding.
void ReadinessEngine::resume_feeder(Stream& to) {
  std::shared_ptr<Forward> feed = feeds_.at(to.slot);
  Stream* from = streams_.find(feed->from.slot, feed->from.generation);
  if (from == nullptr || !(from->input & kForwarding)) {
    if (feed->pipe.held_bytes() == 0) end_forward(*feed);
  } else if ((from->input & kWaiting) && !(to.output & kStalled) && queued(to) == 0) {
    from->input &= static_cast<uint8_t>(~kWaiting);
    if (!edge_) update_interest(*from);
    list_ready(*from);
  }
}

// Ends the forwarding of a stream. Nothing more is read from it, but bytes that are in the pipe will still be sent.
// `forward` may be destroyed when the function returns.
void ReadinessEngine::end_forward(Forward& forward) {
  Stream* from = streams_.find(forward.from.slot, forward.from.generation);
  if (from != nullptr && (from->input & kForwarding)) {
    from->input = static_cast<uint8_t>((from->input | kUnread) & ~(kReceiving | kForwarding | kWaiting));
    if (!edge_) update_interest(*from);
  }
  if (forward.pipe.held_bytes() > 0) return;
  forward.pipe.close();
  uint32_t to = forward.to.slot;
  if (feeds_.erase(to) > 0) streams_[to].output &= static_cast<uint16_t>(~kFed);
}

}  // namespace peal::detail
