// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/readiness_engine.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include <peal/base/assert.h>
#include <peal/engine/pollable.h>

namespace peal::detail {

ReadinessEngine::ReadinessEngine(std::string_view name, MakePoller make_poller)
    : name_(name), make_poller_(make_poller), waker_(std::make_shared<EventWaker>()), listeners_(stats_) {}

ReadinessEngine::~ReadinessEngine() {
  if (poller_ != nullptr) shut();
}

Result<void> ReadinessEngine::open() {
  PEAL_ASSERT(poller_ == nullptr && !shutting_, "the {} engine opened twice", name_);
  if (Result<void> woken = waker_->ready(); !woken) return woken;
  Result<std::unique_ptr<Poller>> poller = make_poller_();
  if (!poller) return std::unexpected(poller.error());
  edge_ = (*poller)->is_edge_triggered();
  Result<void> added = (*poller)->add(waker_->fd(), key(kWaker, 0, 0), kReadable, edge_);
  if (!added) return added;
  poller_ = std::move(*poller);
  has_poller_send_ = poller_->takes_sends();
  if (woke_at_ == nullptr) measured_or_batched_from_ = has_poller_send_ ? 2 : SIZE_MAX;
  pool_ = &BlockPool::here();
  listeners_.open(*poller_, [](uint32_t slot, uint32_t generation) { return key(kListener, slot, generation); });
  return {};
}

void ReadinessEngine::shut() {
  if (poller_ == nullptr) return;
  shutting_ = true;
  flush_before_shut();
  listeners_.stop_all();
  // The callback of a last completion may still connect or adopt a stream. Such a stream is closed in the next round.
  constexpr int kMostRounds = 1000;
  for (int round = 0;; ++round) {
    PEAL_ASSERT(round < kMostRounds, "streams are still being made after {} rounds of closing", round);
    for (uint32_t slot = 0; slot < streams_.capacity(); ++slot) {
      if (streams_[slot].generation != 0) release_stream(streams_[slot], false);
    }
    for (uint32_t slot = 0; slot < watches_.capacity(); ++slot) {
      if (uint32_t generation = watches_[slot].generation; generation != 0) unwatch({slot, generation});
    }
    if (deliver_last_completions() == 0) break;
  }
  poller_.reset();
}

void ReadinessEngine::accept(ListenerId id, AcceptEvents& events) {
  listeners_.accept(id, events);
  if (listeners_.next_resume() != kNever) unfinished_ = true;
}
void ReadinessEngine::stop(ListenerId id) {
  listeners_.stop(id);
  unfinished_ = true;
}

ReadinessEngine::Stream* ReadinessEngine::find(StreamId id) {
  Stream* stream = streams_.find(id.slot, id.generation);
  if (stream == nullptr) [[unlikely]]
    ++stats_.stale_calls;
  return stream;
}

StreamId ReadinessEngine::add_stream(Fd fd, StreamEvents& events, bool connecting, int error) {
  PEAL_ASSERT(poller_ != nullptr, "a stream added to the {} engine while it is not open", name_);
  uint32_t slot = streams_.acquire();
  Stream& stream = streams_[slot];
  stream.interest = static_cast<uint8_t>((edge_ ? kReadable : 0U) | (connecting ? kWritable : 0U));
  if (error == 0) {
    Result<void> added = poller_->add(fd.get(), key(stream), stream.interest, edge_);
    if (!added) error = added.error().value();
  }
  stream.events = &events;
  stream.output = connecting ? kStalled | kConnecting : 0;
  stream.polled = error == 0;
  stream.pending_error = error;
  stream.fd = fd.release();
  if (error != 0) {
    // An adopted stream that cannot be polled takes no output. When its owner calls receive(), its input ends with the
    // error.
    stream.input |= kUnread;
    if (connecting) {
      list_ready(stream);
    } else {
      stream.output = kOutputOver;
    }
  }
  return {slot, stream.generation};
}

StreamId ReadinessEngine::adopt(LooseStream loose, StreamEvents& events) {
  Buffer early = std::move(loose.early());
  StreamId id = add_stream(std::move(loose).take_fd(), events, false, 0);
  if (!early.empty()) {
    // A stream that is marked kUnread is read only through the ready list, which delivers the bytes of
    // LooseStream::early() first.
    streams_[id.slot].input |= kUnread;
    pending_deliveries_.emplace(id.slot, std::move(early));
  }
  return id;
}

StreamId ReadinessEngine::connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) {
  Result<Fd> fd = open_connector(address, options);
  if (!fd) return add_stream(Fd(), events, true, fd.error().value());
  int error = ::connect(fd->get(), address.data(), address.size()) == 0 ? 0 : errno;
  // An interrupted connect continues in the background (connect(2), EINTR). A connect that has succeeded at once needs
  // no special case, because the poller will find the socket writable.
  if (error == EINPROGRESS || error == EINTR) error = 0;
  return add_stream(std::move(*fd), events, true, error);
}

void ReadinessEngine::finish_connect(Stream& stream, std::error_code error) {
  stream.output &= static_cast<uint16_t>(~(kConnecting | kStalled));
  if (error) {
    stream.input = static_cast<uint8_t>((stream.input | kInputOver) & ~kReceiving);
    drop_output(stream);
    stream.output |= kOutputOver;
  } else {
    make_dirty(stream);
    // The event that reported the connection may have reported the first bytes from the server, too.
    if ((stream.input & (kReceiving | kUnread)) == (kReceiving | kUnread)) list_ready(stream);
  }
  if (!edge_) update_interest(stream);
  stream.events->on_connected(error);
}

void ReadinessEngine::report_sent(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  stream->output |= kReportSent;
  make_dirty(*stream);
}

size_t ReadinessEngine::held_bytes(const Stream& stream) const {
  if (!(stream.output & kFiles)) return stream.out.held_bytes();
  return stream.out.block_bytes() + files_.at(stream.slot).held_bytes();
}

void ReadinessEngine::shutdown_send(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || (stream->output & kOutputOver)) return;
  if (stream->output & kFed) end_forward(*feeds_.at(id.slot));
  stream->output |= kOutputOver | kSendFin;
  make_dirty(*stream);
}

void ReadinessEngine::release_stream(Stream& stream, bool detach) {
  Buffer kept;
  const size_t lost = shutting_ ? queued(stream) : 0;
  stats_.lost_bytes += lost;
  if (stream.output & kInFlight) {
    kept = std::move(stream.out);
    --sends_in_flight_;
  }
  if (stream.output & (kFiles | kFed)) drop_output(stream);
  if (auto forward = forwards_.find(stream.slot); forward != forwards_.end()) {
    if (stream.input & kForwarding) end_forward(*forward->second);
    forwards_.erase(stream.slot);
  }
  if (&stream == delivering_) {
    delivering_ = nullptr;
    delivering_id_ = kNobody;
  }
  Buffer early = take_early(stream);
  Fd fd(stream.fd);
  Fd detached;
  if (detach) {
    if (stream.polled) poller_->remove(fd.get(), key(stream));
    detached = std::move(fd);
    kept = std::move(early);
  } else if (stream.polled) {
    poller_->close(std::move(fd), key(stream));
  }
  StreamEvents* events = stream.events;
  const uint32_t slot = stream.slot;
  stream = Stream{SlotLinks(stream)};
  streams_.release(slot);
  last_completions_.push_back({events, nullptr, std::move(detached), std::move(kept), lost});
  unfinished_ = true;
}

void ReadinessEngine::close(StreamId id, CloseHow how) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  if (how == CloseHow::kReset && stream->fd >= 0) arm_reset(stream->fd);
  release_stream(*stream, false);
}

void ReadinessEngine::detach(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  if (stream->input & kForwarding) end_forward(*forwards_.at(id.slot));
  if (stream->output & kFed) end_forward(*feeds_.at(id.slot));
  stream->output |= kDetach;
  stream->input &= static_cast<uint8_t>(~kReceiving);
  make_dirty(*stream);
}

void ReadinessEngine::note_waits(TimePoint& woke_at, Duration& worked) {
  PEAL_ASSERT(woke_at_ == nullptr, "the waits of the {} engine are measured twice", name_);
  woke_at_ = &woke_at;
  worked_ = &worked;
  measured_or_batched_from_ = 0;
}

Result<WatchId> ReadinessEngine::watch(int fd, bool readable, bool writable, WatchEvents& events) {
  PEAL_ASSERT(poller_ != nullptr, "fd {} watched by the {} engine while it is not open", fd, name_);
  if (Result<void> checked = check_pollable(fd); !checked) return std::unexpected(checked.error());
  uint32_t slot = watches_.acquire();
  Watch& watch = watches_[slot];
  watch.fd = fd;
  watch.reads = readable;
  watch.writes = writable;
  watch.events = &events;
  const uint64_t its_key = key(kWatch, slot, watch.generation);
  uint32_t interest = (readable ? kReadable : 0U) | (writable ? kWritable : 0U);
  Result<void> added = poller_->add(fd, its_key, interest, false);
  if (!added && added.error() == std::errc::file_exists) {
    watch.second = Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    watch.fd = watch.second.get();
    added = watch.second ? poller_->add(watch.fd, its_key, interest, false) : fail(errno);
  }
  if (added) return WatchId{slot, watch.generation};
  watch.second.reset();
  watches_.release(slot);
  return std::unexpected(added.error());
}

void ReadinessEngine::unwatch(WatchId id) {
  Watch* watch = watches_.find(id.slot, id.generation);
  if (watch == nullptr) {
    ++stats_.stale_calls;
    return;
  }
  poller_->remove(watch->fd, key(kWatch, id.slot, id.generation));
  watch->second.reset();
  last_completions_.push_back({nullptr, watch->events, Fd(), Buffer()});
  unfinished_ = true;
  watches_.release(id.slot);
}

void ReadinessEngine::dispatch_rest(const PollEvent& event) {
  auto slot = static_cast<uint32_t>(event.key >> 6);
  auto generation = static_cast<uint16_t>(event.key >> kGenerationShift);
  switch (static_cast<Kind>(event.key & kKindMask)) {
    case kStream:
      if (Stream& stream = *stream_of(event.key); static_cast<uint16_t>(stream.generation) == generation) {
        stream_ready(stream, event.readiness);
      }
      break;
    case kListener:
      listeners_.accept_ready(slot, generation);
      if (listeners_.next_resume() != kNever) unfinished_ = true;
      break;
    case kWatch:
      if (Watch& watch = watches_[slot]; static_cast<uint16_t>(watch.generation) == generation) {
        const bool readable = (event.readiness & (kReadable | kHangup)) != 0;
        const bool writable = (event.readiness & (kWritable | kBroken)) != 0;
        watch.events->on_ready(readable && watch.reads, writable && watch.writes);
      }
      break;
    case kWaker:
      if (event.readiness & kRegistrationLost) poller_->modify(waker_->fd(), event.key, kReadable, edge_);
      // An edge-triggered poller reports each wake(), so the eventfd need not be emptied.
      if (edge_) {
        waker_->clear_pending();
      } else {
        waker_->drain();
      }
      ++stats_.wakeups;
      break;
  }
}

size_t ReadinessEngine::deliver_last_completions() {
  size_t count = listeners_.has_last_completions() ? listeners_.deliver_last_completions(!shutting_) : 0;
  if (last_completions_.empty()) return count;
  poller_->finish_removals();
  std::vector<LastCompletion> leaving = std::exchange(last_completions_, {});
  for (LastCompletion& last : leaving) {
    if (last.watch != nullptr) {
      last.watch->on_unwatched();
    } else if (last.detached) {
      last.stream->on_detached(LooseStream(std::move(last.detached), std::move(last.kept)));
    } else {
      if (last.lost_bytes > 0) last.stream->on_output_lost(last.lost_bytes);
      last.stream->on_closed();
    }
  }
  return count + leaving.size();
}

Buffer ReadinessEngine::take_early(const Stream& stream) {
  auto early = pending_deliveries_.extract(stream.slot);
  return early ? std::move(early.mapped()) : Buffer();
}

// Delivers the input that another engine had received before this engine adopted the stream. Returns true if the stream
// is still open and receiving, so that it can be read next.
bool ReadinessEngine::deliver_pending(Stream& stream) {
  const uint32_t generation = stream.generation;
  Buffer bytes = take_early(stream);
  if (!bytes.empty()) stream.events->on_received(bytes);
  return stream.generation == generation && (stream.input & kReceiving);
}

}  // namespace peal::detail
