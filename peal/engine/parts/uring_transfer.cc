// SPDX-License-Identifier: BSD-3-Clause
// How a UringEngine moves bytes, and what follows from it. Who exists, waits and leaves is decided in uring_engine.cc.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/engine/parts/socket_calls.h>
#include <peal/engine/parts/uring_engine.h>

namespace peal::detail {
namespace {

bool is_passing(int result) { return result == -ECANCELED || result == -EINTR || result == -EAGAIN; }

}  // namespace

UringEngine::Aside& UringEngine::aside(Stream& stream) {
  if (stream.aside == nullptr) stream.aside = std::make_unique<Aside>();
  return *stream.aside;
}

void UringEngine::attend(uint32_t slot, Stream& stream) {
  if (stream.attended) return;
  stream.attended = true;
  attended_.push_back(slot);
}

// Attends to those listed before this call; what they list again waits for the next turn.
size_t UringEngine::attend_all() {
  std::vector<uint32_t> slots = std::exchange(attended_, {});
  for (uint32_t slot : slots) {
    Stream& stream = streams_[slot];
    if (!stream.attended) continue;
    stream.attended = false;
    settle(slot, stream);
  }
  return slots.size();
}

// Does what is due now that something of the stream has changed. May release it.
void UringEngine::settle(uint32_t slot, Stream& stream) {
  bool tells = stream.aside != nullptr && (stream.wants_bytes || stream.aside->connect_error);
  if (tells && !stream.closed) tell_aside(stream);
  if (stream.closed) {
    if (stream.held()) return;
    StreamEvents* events = stream.events;
    release(slot, stream);
    return events->on_closed();
  }
  if (stream.connecting) return;
  arm_receive(slot, stream);
  if (stream.wants_sent || stream.shutdown_asked || stream.detach_asked) [[unlikely]]
    after_output(slot, stream, false);
}

void UringEngine::tell_aside(Stream& stream) {
  std::unique_ptr<Aside> told = std::move(stream.aside);
  if (told->connect_error) {
    stream.receive_over = stream.send_over = true;
    stream.out.clear();
    stream.files.reset();
    return stream.events->on_connected(told->connect_error);
  }
  // In pieces, so that a receiver that pauses at each gets no more at once than it would from the socket.
  while (!told->bytes.empty() && stream.wants_bytes && !stream.closed) {
    Buffer piece = told->bytes.take(std::min(told->bytes.size(), kStashPieceBytes));
    ++stats_.receives;
    stats_.received_bytes += piece.size();
    stream.events->on_received(piece);
  }
  if (stream.closed || (told->bytes.empty() && (!told->ended || stream.detach_asked))) return;
  if (stream.wants_bytes) {
    stream.events->on_receive_end(told->end_error);
  } else {
    stream.aside = std::move(told);
  }
}

void UringEngine::receive(StreamId id, bool on) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->detach_asked) return;
  stream->wants_bytes = on;
  if (!on) {
    pause_receive(id.slot, *stream);
  } else if (stream->aside != nullptr) {
    attend(id.slot, *stream);
  } else {
    arm_receive(id.slot, *stream);
  }
}

// Unless it is armed, over, or not wanted.
void UringEngine::arm_receive(uint32_t slot, Stream& stream) {
  if (!stream.wants_bytes || stream.armed || stream.receive_over || stream.connecting) return;
  ring_->receive(stream.fd, stream.bulky, tag(kReceive, slot));
  stream.armed = true;
}

void UringEngine::pause_receive(uint32_t slot, Stream& stream) {
  if (!stream.armed || stream.cancelling) return;
  ring_->cancel(tag(kReceive, slot));
  stream.cancelling = true;
}

void UringEngine::received(uint32_t slot, Stream& stream, const Completion& completion) {
  PEAL_ASSERT(stream.armed, "stream {} received without being armed (result {})", slot, completion.result);
  Buffer bytes = ring_->take_bytes(completion);
  if (!completion.more()) stream.armed = stream.cancelling = false;
  if (completion.result >= kBulkyBytes && !stream.bulky) [[unlikely]] {
    // Armed anew when the cancel is through.
    stream.bulky = true;
    pause_receive(slot, stream);
  }
  if (!bytes.empty()) [[likely]] {
    if (stream.wants_bytes && stream.aside == nullptr && !stream.closed) [[likely]] {
      ++stats_.receives;
      stats_.received_bytes += bytes.size();
      stream.events->on_received(bytes);
    } else if (!stream.closed) {
      stats_.stashed_bytes += bytes.size();
      aside(stream).bytes.append(std::move(bytes));
    }
  } else if (completion.result == -ENOBUFS) {
    ++stats_.buffers_dry;
    ring_->lend_more(stream.bulky);
  } else if (!is_passing(completion.result)) {
    receive_ended(stream, completion.result == 0 ? std::error_code{} : errno_code(-completion.result));
  }
  if (!stream.armed) [[unlikely]]
    settle(slot, stream);
}

void UringEngine::receive_ended(Stream& stream, std::error_code error) {
  if (stream.closed) return;
  stream.receive_over = true;
  if (stream.wants_bytes && stream.aside == nullptr) return stream.events->on_receive_end(error);
  aside(stream).ended = true;
  aside(stream).end_error = error;
}

void UringEngine::connected(uint32_t slot, Stream& stream, int result) {
  stream.connecting = false;
  if (!stream.closed) {
    if (result < 0) {
      stream.receive_over = stream.send_over = true;
      stream.out.clear();
      stream.files.reset();
    }
    stream.events->on_connected(result < 0 ? errno_code(-result) : std::error_code{});
    if (stream.has_output()) make_dirty(slot, stream);
  }
  settle(slot, stream);
}

template <class Bytes>
size_t UringEngine::enqueue(StreamId id, Bytes&& bytes) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->send_over || stream->shutdown_asked) return 0;
  if (stream->files != nullptr) [[unlikely]]
    return stream->out.size() + stream->files->append(std::forward<Bytes>(bytes));
  stream->out.append(std::forward<Bytes>(bytes));
  make_dirty(id.slot, *stream);
  return stream->out.size();
}

size_t UringEngine::send(StreamId id, Buffer&& bytes) { return enqueue(id, std::move(bytes)); }
size_t UringEngine::send_copy(StreamId id, std::string_view bytes) { return enqueue(id, bytes); }

void UringEngine::send_file(StreamId id, FileRange range) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->send_over || stream->shutdown_asked || range.bytes == 0) return;
  if (stream->files == nullptr) stream->files = std::make_unique<FileQueue>();
  stream->files->push(std::move(range));
  make_dirty(id.slot, *stream);
}

// Sends those that are dirty when it is called; what the completions of files add waits for the next turn. Returns how
// many streams may have been called up.
size_t UringEngine::send_dirty() {
  const size_t count = dirty_.size();
  size_t told = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t slot = dirty_[i];
    Stream& stream = streams_[slot];
    if (!stream.dirty) continue;
    stream.dirty = false;
    if (stream.sending || stream.blocked || stream.closed || stream.connecting) continue;
    if (stream.out.empty()) {
      if (stream.files == nullptr) continue;
      ++told;
      if (!send_files(slot, stream)) continue;
    }
    stream.offered =
        static_cast<uint32_t>(ring_->send(stream.fd, stream.out, stream.files != nullptr, tag(kSend, slot)));
    stream.sending = true;
    ++stats_.sends;
  }
  dirty_.erase(dirty_.begin(), dirty_.begin() + static_cast<ptrdiff_t>(count));
  return told;
}

// sendfile(2) at once: the ring has no such request, and its splice blocks. True when blocks are to be sent next.
bool UringEngine::send_files(uint32_t slot, Stream& stream) {
  size_t budget = FileQueue::kTurnBytes;
  while (stream.files != nullptr && stream.out.empty() && budget > 0) {
    Moved moved = stream.files->send(stream.fd, budget);
    ++stats_.sends;
    if (moved.error == EAGAIN) {
      block(slot, stream);
      break;
    }
    if (moved.error != 0) {
      fail_output(stream, errno_code(moved.error));
      break;
    }
    stats_.sent_bytes += moved.bytes;
    stats_.file_bytes += moved.bytes;
    budget -= moved.bytes;
    if (!stream.files->front_is_out()) continue;
    stream.out = stream.files->pop();
    if (stream.files->empty()) stream.files.reset();
  }
  if (stream.closed) return false;
  if (!stream.blocked && !stream.out.empty()) return true;
  if (!stream.blocked && stream.files != nullptr) make_dirty(slot, stream);
  after_output(slot, stream, budget < FileQueue::kTurnBytes);
  return false;
}

void UringEngine::fail_output(Stream& stream, std::error_code error) {
  stream.out.clear();
  stream.files.reset();
  stream.send_over = true;
  stream.events->on_send_failed(error);
}

void UringEngine::sent(uint32_t slot, Stream& stream, int result) {
  PEAL_ASSERT(stream.sending, "stream {} sent without being asked to (result {})", slot, result);
  stream.sending = false;
  if (stream.closed) [[unlikely]] {
    stream.out.clear();
    return settle(slot, stream);
  }
  if (result >= 0) [[likely]] {
    auto count = static_cast<uint32_t>(result);
    stats_.sent_bytes += count;
    stream.out.consume(count);
    if (count < stream.offered) [[unlikely]] {
      stream.out.compact();
      block(slot, stream);
    }
  } else if (result == -EAGAIN) {
    block(slot, stream);
  } else if (!is_passing(result)) {
    fail_output(stream, errno_code(-result));
    if (stream.closed) return;
  }
  if (stream.has_output()) make_dirty(slot, stream);
  if (stream.wants_sent || stream.shutdown_asked || stream.detach_asked) [[unlikely]] {
    after_output(slot, stream, result > 0);
  }
}

// The kernel takes no more for now. It posts completions only inside enter(), and this send completed there: room that
// opens up from then on is an edge of the poll, and room at its start its first event.
void UringEngine::block(uint32_t slot, Stream& stream) {
  ++stats_.short_sends;
  stream.blocked = true;
  if (stream.polled) return;
  ring_->poll(stream.fd, POLLOUT, true, tag(kRoom, slot));
  stream.polled = true;
}

void UringEngine::room_changed(uint32_t slot, Stream& stream, const Completion& completion) {
  stream.polled = completion.more();
  if (!stream.closed && stream.blocked) {
    bool room = completion.result < 0 || (completion.result & (POLLOUT | POLLERR | POLLHUP)) != 0;
    if (room) {
      stream.blocked = false;
      make_dirty(slot, stream);
    } else if (!stream.polled) {
      block(slot, stream);
    }
  }
  if (!stream.polled) settle(slot, stream);
}

void UringEngine::report_sent(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->wants_sent = true;
  if (!stream->has_output()) attend(id.slot, *stream);
}

size_t UringEngine::queued_bytes(StreamId id) const {
  const Stream* stream = peek(id);
  if (stream == nullptr) return 0;
  return stream->out.size() + (stream->files == nullptr ? 0 : stream->files->bytes());
}

void UringEngine::shutdown_send(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->shutdown_asked) return;
  stream->shutdown_asked = true;
  if (!stream->has_output() && !stream->connecting && !stream->send_over) {
    stream->send_over = true;
    ::shutdown(stream->fd, SHUT_WR);
  }
}

void UringEngine::detach(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->detach_asked) return;
  stream->detach_asked = true;
  stream->wants_bytes = false;
  pause_receive(id.slot, *stream);
  attend(id.slot, *stream);
}

void UringEngine::after_output(uint32_t slot, Stream& stream, bool progress) {
  size_t left = stream.out.size() + (stream.files == nullptr ? 0 : stream.files->bytes());
  if (left == 0 && stream.shutdown_asked && !stream.send_over) {
    stream.send_over = true;
    ::shutdown(stream.fd, SHUT_WR);
  }
  if (stream.wants_sent && (progress || left == 0)) {
    if (left == 0) stream.wants_sent = false;
    stream.events->on_sent(left);
    if (stream.closed) return;
  }
  if (!stream.detach_asked || stream.has_output()) return;
  if (stream.polled && !stream.armed && !stream.sending) ring_->cancel(tag(kRoom, slot));
  if (!stream.held()) finish_detach(slot, stream);
}

// Bytes the kernel has handed over cannot be put back: they go along.
void UringEngine::finish_detach(uint32_t slot, Stream& stream) {
  StreamEvents* events = stream.events;
  Fd fd(std::exchange(stream.fd, -1));
  Buffer early;
  if (stream.aside != nullptr) early = std::move(stream.aside->bytes);
  release(slot, stream);
  // A connect that never had a socket leaves nothing to give away.
  if (!fd) return events->on_closed();
  events->on_detached(LooseStream(std::move(fd), std::move(early)));
}

}  // namespace peal::detail
