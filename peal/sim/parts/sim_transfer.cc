// SPDX-License-Identifier: BSD-3-Clause
// The streams of a SimEngine: connecting, reading, writing, and the reports of these to StreamEvents.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <span>
#include <utility>

#include <peal/sim/parts/sim_engine.h>

namespace peal::detail {

void SimEngine::serve_stream(uint32_t slot) {
  Stream& stream = streams_[slot];
  const uint32_t generation = stream.generation;
  if (stream.connecting && !finish_connect(stream)) return;
  if (stream.queued() > 0 || stream.wants_fin || stream.reports || stream.detaching) make_dirty(stream, slot);
  flush_all();
  if (streams_.find(slot, generation) == nullptr) return;
  if (stream.receiving) {
    read_turn(slot);
  } else {
    report_gone(stream);
  }
}

// Calls the stream's on_connected() if the result of the connect is known. Returns true if the stream still exists
// afterwards and can be read and written.
bool SimEngine::finish_connect(Stream& stream) {
  const int error = stream.end->connected;
  if (error == SimEnd::kConnecting) return false;
  stream.connecting = false;
  if (error != 0) {
    stream.input_over = true;
    stream.output_over = true;
    stream.receiving = false;
    stream.wants_fin = false;
    drop_output(stream);
  }
  network_->trace("connected", *stream.end, static_cast<uint64_t>(error));
  ++stats_.events;
  const uint32_t generation = stream.generation;
  stream.events->on_connected(error == 0 ? std::error_code{} : errno_code(error));
  return stream.generation == generation;
}

bool SimEngine::meets_io_fault(Stream& stream) {
  SimNetwork& network = *network_;
  const SocketAddress& local = stream.end->local;
  constexpr int kMostInterruptions = 100;
  for (int i = 0; i < kMostInterruptions && network.strikes(SimFaultKind::kInterrupted, {}, local); ++i) {
  }
  if (!network.strikes(SimFaultKind::kAgain, {}, local)) return false;
  stream.end->notify_owner_later(SimFaultKind::kAgain);
  return true;
}

void SimEngine::read_turn(uint32_t slot) {
  Stream& stream = streams_[slot];
  SimNetwork& network = *network_;
  const uint32_t generation = stream.generation;
  for (size_t taken = 0; stream.generation == generation && stream.receiving;) {
    if (!stream.early.empty()) {
      Buffer early = std::move(stream.early);
      call_received(stream, early);
      continue;
    }
    const std::string_view waiting = stream.end->readable();
    if (waiting.empty()) {
      if (stream.end->input_ended()) end_input(stream);
      return;
    }
    if (meets_io_fault(stream)) return;
    if (taken >= kReceiveTurnBytes) return mark_ready(streams_, Kind::kStream, slot);
    size_t size = std::min(waiting.size(), taken < kLargeBlockBytes ? size_t{kLargeBlockBytes} : kMostReceiveBytes);
    const bool cut_short = size > 1 && network.strikes(SimFaultKind::kShortRead, stream.end->peer, stream.end->local);
    if (cut_short) size = 1 + network.random_for(SimFaultKind::kShortRead, size - 1);
    Buffer bytes;
    for (size_t done = 0; done < size; done += kLargeBlockBytes) {
      const std::string_view part = waiting.substr(done, std::min<size_t>(size - done, kLargeBlockBytes));
      Block* block = BlockPool::here().acquire(kLargeBlockBytes);
      std::ranges::copy(std::as_bytes(std::span(part)), block->data);
      bytes.append(Buffer(block, 0, static_cast<uint32_t>(part.size())));
    }
    network.trace("receives", *stream.end, size);
    stream.end->consume(size);
    taken += size;
    ++stats_.receives;
    stats_.received_bytes += size;
    call_received(stream, bytes);
    if (cut_short && stream.generation == generation) return mark_ready(streams_, Kind::kStream, slot);
  }
}

void SimEngine::call_received(Stream& stream, Buffer& bytes) {
  ++stats_.events;
  stream.events->on_received(bytes);
  flush_all();
}

void SimEngine::end_input(Stream& stream) {
  stream.input_over = true;
  stream.receiving = false;
  const int error = stream.end->error();
  stream.gone_reported = error != 0;
  network_->trace("ends", *stream.end, static_cast<uint64_t>(error));
  ++stats_.events;
  stream.events->on_receive_end(error == 0 ? std::error_code{} : errno_code(error));
  flush_all();
}

// Calls on_gone() if the connection has ended with an error and no output is queued. Meant for a stream that does not
// receive, because such a stream does not notice the end by reading.
void SimEngine::report_gone(Stream& stream) {
  const int error = stream.end->error();
  if (error == 0 || stream.queued() > 0 || std::exchange(stream.gone_reported, true)) return;
  const bool unread = !stream.early.empty() || !stream.end->readable().empty();
  ++stats_.events;
  stream.events->on_gone(unread ? std::error_code{} : errno_code(error));
  flush_all();
}

void SimEngine::receive(StreamId id, bool on) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->detaching) return;
  const bool was_on = std::exchange(stream->receiving, on && !stream->input_over);
  if (was_on && !stream->receiving) stream->gone_reported = false;
  const bool gone = stream->end->error() != 0 && !stream->gone_reported;
  if (stream->receiving || gone) mark_ready(streams_, Kind::kStream, id.slot);
}

size_t SimEngine::send(StreamId id, Buffer&& bytes) {
  Stream* stream = find(id);
  if (stream == nullptr) return 0;
  if (stream->output_over || bytes.empty()) return stream->memory_bytes;
  stream->memory_bytes += bytes.size();
  if (stream->out.empty() || stream->out.back().file.file) stream->out.emplace_back();
  stream->out.back().bytes.append(std::move(bytes));
  if (stream->out.size() > 1) stream->out.back().bytes.compact();
  make_dirty(*stream, id.slot);
  return stream->out.size() > 1 ? held_bytes(id) : stream->memory_bytes;
}

size_t SimEngine::send_copy(StreamId id, std::string_view bytes) { return send(id, Buffer(bytes)); }

void SimEngine::send_file(StreamId id, FileRange range) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->output_over || range.bytes == 0) return;
  stream->file_bytes += range.bytes;
  stream->out.push_back({.bytes = {}, .file = std::move(range)});
  make_dirty(*stream, id.slot);
}

void SimEngine::report_sent(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->reports = true;
  make_dirty(*stream, id.slot);
}

void SimEngine::shutdown_send(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->output_over) return;
  stream->output_over = true;
  stream->wants_fin = true;
  make_dirty(*stream, id.slot);
}

void SimEngine::detach(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->detaching = true;
  stream->receiving = false;
  make_dirty(*stream, id.slot);
}

size_t SimEngine::queued_bytes(StreamId id) const {
  const Stream* stream = streams_.find(id.slot, id.generation);
  return stream == nullptr ? 0 : stream->queued();
}

size_t SimEngine::held_bytes(StreamId id) const {
  const Stream* stream = streams_.find(id.slot, id.generation);
  if (stream == nullptr) return 0;
  if (stream->out.size() == 1) return stream->out.front().bytes.held_bytes();
  return std::accumulate(stream->out.begin(), stream->out.end(), size_t{0},
                         [](size_t sum, const Piece& piece) { return sum + piece.bytes.block_bytes() + sizeof piece; });
}

uint64_t SimEngine::unsent_bytes(StreamId id) const {
  const Stream* stream = streams_.find(id.slot, id.generation);
  return stream == nullptr ? 0 : stream->end->unacknowledged();
}

void SimEngine::make_dirty(Stream& stream, uint32_t slot) {
  if (!std::exchange(stream.dirty, true)) dirty_.push_back({slot, stream.generation});
}

// Writes the output of all streams that are in dirty_ now. Output that their callbacks queue is written by the next
// call. Otherwise a stream that is refilled as fast as it is written would occupy the loop for ever.
void SimEngine::flush_all() {
  const std::vector<StreamId> now_dirty = std::exchange(dirty_, {});
  for (StreamId id : now_dirty) {
    if (streams_.find(id.slot, id.generation) != nullptr) flush(id.slot);
  }
}

// Writes all queued output for which the network has room. Short writes and the budget of a turn only cause further
// rounds.
void SimEngine::flush_before_shut() {
  constexpr int kMostTurns = 1000;
  run_before_wait();
  flush_all();
  for (int turn = 0; turn < kMostTurns; ++turn) {
    bulk_budget_ = kBulkTurnBytes;
    for (uint32_t slot = 0; slot < streams_.capacity(); ++slot) {
      Stream& stream = streams_[slot];
      if (stream.generation == 0 || stream.connecting) continue;
      if (stream.queued() > 0 && stream.end->room() > 0) make_dirty(stream, slot);
    }
    if (dirty_.empty()) return;
    flush_all();
  }
}

void SimEngine::flush(uint32_t slot) {
  Stream& stream = streams_[slot];
  const uint32_t generation = stream.generation;
  stream.dirty = false;
  if (stream.connecting) return;
  bool progress = false;
  if (int error = write_out(stream, progress); error != 0) {
    drop_output(stream);
    stream.output_over = true;
    stream.wants_fin = false;
    ++stats_.events;
    stream.events->on_send_failed(errno_code(error));
    if (stream.generation != generation) return;
  }
  const size_t left = stream.queued();
  if (left == 0 && std::exchange(stream.wants_fin, false)) stream.end->send_fin();
  if (stream.reports && (progress || left == 0)) {
    if (left == 0) stream.reports = false;
    ++stats_.events;
    stream.events->on_sent(left);
    if (stream.generation != generation) return;
  }
  if (stream.detaching && stream.queued() == 0) release_stream(slot, CloseHow::kNormal, true);
}

// Does one write if there is output and room for it. Sets `progress` to true if bytes were written. Returns 0, or the
// errno after which the stream cannot send any more.
int SimEngine::write_out(Stream& stream, bool& progress) {
  SimNetwork& network = *network_;
  if (stream.queued() == 0) return 0;
  if (stream.end->error() != 0) return stream.end->error();
  if (stream.end->room() == 0 || meets_io_fault(stream)) return 0;
  size_t most = std::min(stream.end->room(), stream.queued());
  if (stream.file_bytes > 0 && most > bulk_budget_) {
    mark_ready(streams_, Kind::kStream, stream.slot);  // the rest is written in the next turn
    most = bulk_budget_;
    if (most == 0) return 0;
  }
  if (most > 1 && network.strikes(SimFaultKind::kShortWrite, stream.end->local, stream.end->peer)) {
    most = 1 + network.random_for(SimFaultKind::kShortWrite, most - 1);
    stream.end->notify_owner_later(SimFaultKind::kShortWrite);
  }
  int error = 0;
  const uint64_t file_bytes = stats_.file_bytes;
  std::string bytes = gather(stream, most, error);
  bulk_budget_ -= stats_.file_bytes - file_bytes;
  ++stats_.sends;
  stats_.sent_bytes += bytes.size();
  if (stream.queued() > 0) ++stats_.short_sends;
  progress = !bytes.empty();
  if (progress) stream.end->write(std::move(bytes));
  return error;
}

// Removes at most `most` bytes from the front of the queue of output and returns them. If a file cannot be read, sets
// `error` to the errno. If a file is shorter than its range, sets `error` to EIO.
std::string SimEngine::gather(Stream& stream, size_t most, int& error) {
  std::string bytes;
  bytes.reserve(most);
  size_t done = 0;
  while (bytes.size() < most && done < stream.out.size()) {
    Piece& piece = stream.out[done];
    const size_t room = most - bytes.size();
    if (!piece.bytes.empty()) {
      const std::string_view front = piece.bytes.front().substr(0, room);
      bytes.append(front);
      stream.memory_bytes -= front.size();
      piece.bytes.consume(front.size());
    } else if (piece.file.bytes > 0) {
      const size_t before = bytes.size();
      bytes.resize(before + std::min<uint64_t>(room, piece.file.bytes));
      const ssize_t count = ::pread(piece.file.file->get(), bytes.data() + before, bytes.size() - before,
                                    static_cast<off_t>(piece.file.offset));
      const size_t got = count > 0 ? static_cast<size_t>(count) : 0;
      error = count < 0 ? errno : count == 0 ? EIO : 0;
      bytes.resize(before + got);
      piece.file.offset += got;
      piece.file.bytes -= got;
      stream.file_bytes -= got;
      stats_.file_bytes += got;
      if (error != 0) break;
    }
    if (piece.bytes.empty() && piece.file.bytes == 0) ++done;
  }
  stream.out.erase(stream.out.begin(), stream.out.begin() + static_cast<ptrdiff_t>(done));
  return bytes;
}

void SimEngine::drop_output(Stream& stream) {
  stream.out.clear();
  stream.memory_bytes = 0;
  stream.file_bytes = 0;
}

}  // namespace peal::detail
