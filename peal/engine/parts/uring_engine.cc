// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/uring_engine.h>

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include <peal/base/assert.h>
#include <peal/engine/parts/ring_close_note.h>
#include <peal/engine/parts/socket_calls.h>

namespace peal::detail {

UringEngine::UringEngine() : waker_(std::make_shared<EventWaker>()), listeners_(stats_), datagrams_(*this, stats_) {}

UringEngine::~UringEngine() {
  shut();
  listeners_.stop_all();
}

Result<void> UringEngine::open() {
  PEAL_ASSERT(ring_ == nullptr && !shutting_, "the {} engine opened twice", name());
  if (Result<void> ready = waker_->ready(); !ready) return ready;
  Result<std::unique_ptr<UringRing>> ring = UringRing::make();
  if (!ring) return std::unexpected(ring.error());
  ring_ = std::move(*ring);
  listeners_.open(*ring_, tag(kAccept, 0));
  ring_->read_eventfd(waker_->fd(), tag(kWake, 0));
  wake_armed_ = true;
  return {};
}

void UringEngine::shut() {
  if (ring_ == nullptr) return;
  shutting_ = true;
  if (wake_armed_) ring_->cancel(tag(kWake, 0));
  // A last completion may connect, adopt or watch once more; what it made is closed in the next round.
  constexpr int kMostRounds = 10000;
  for (int round = 0;; ++round) {
    close_everything();
    if (streams_.size() == 0 && watches_.size() == 0 && listeners_.empty() && !wake_armed_) break;
    PEAL_ASSERT(round < kMostRounds, "{} streams, {} watches are left after {} rounds of closing", streams_.size(),
                watches_.size(), round);
    turn(monotonic_now() + std::chrono::milliseconds(100));
  }
  ring_.reset();
}

void UringEngine::close_everything() {
  listeners_.stop_all();
  for (uint32_t slot = 0; slot < streams_.capacity(); ++slot) {
    Stream& stream = streams_[slot];
    if (stream.generation != 0 && !stream.closed) begin_close(slot, stream);
  }
  for (uint32_t slot = 0; slot < watches_.capacity(); ++slot) {
    const Watch& watch = watches_[slot];
    if (watch.generation != 0 && !watch.leaving) unwatch({slot, watch.generation});
  }
}

Result<ListenerId> UringEngine::bind(const SocketAddress& address, const ListenOptions& options) {
  return listeners_.bind(address, options);
}
Result<ListenerId> UringEngine::adopt_listener(Fd listening, const AdoptOptions& options) {
  return listeners_.adopt(std::move(listening), options);
}
Result<SocketAddress> UringEngine::local_address(ListenerId id) const { return listeners_.local_address(id); }
void UringEngine::accept(ListenerId id, AcceptEvents& events) { listeners_.accept(id, events); }
void UringEngine::stop(ListenerId id) { listeners_.stop(id); }

UringEngine::Stream* UringEngine::find(StreamId id) {
  Stream* stream = streams_.find(id.slot, id.generation);
  if (stream != nullptr && !stream->closed) [[likely]]
    return stream;
  ++stats_.stale_calls;
  return nullptr;
}

const UringEngine::Stream* UringEngine::peek(StreamId id) const {
  const Stream* stream = streams_.find(id.slot, id.generation);
  return stream != nullptr && !stream->closed ? stream : nullptr;
}

StreamId UringEngine::add_stream(Fd fd, StreamEvents& events) {
  PEAL_ASSERT(ring_ != nullptr, "a stream added to the {} engine while it is not open (fd {})", name(), fd.get());
  uint32_t slot = streams_.acquire();
  Stream& stream = streams_[slot];
  stream.events = &events;
  stream.fd = fd.release();
  return {slot, stream.generation};
}

StreamId UringEngine::adopt(LooseStream loose, StreamEvents& events) {
  Buffer early = loose.take_early();
  StreamId id = add_stream(std::move(loose).take_fd(), events);
  if (!early.empty()) aside(streams_[id.slot]).bytes = std::move(early);
  return id;
}

StreamId UringEngine::connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) {
  Result<Fd> fd = open_connector(address, options);
  StreamId id = add_stream(fd ? std::move(*fd) : Fd(), events);
  Stream& stream = streams_[id.slot];
  if (fd) {
    stream.connecting = true;
    ring_->connect(stream.fd, address, tag(kConnect, id.slot));
  } else {
    aside(stream).connect_error = fd.error();
    attend(id.slot, stream);
  }
  return id;
}

void UringEngine::close(StreamId id, CloseHow how) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  if (how == CloseHow::kReset && stream->fd >= 0) arm_reset(stream->fd);
  begin_close(id.slot, *stream);
}

// While a request is armed it holds the socket open, and close(2) alone would send no FIN: what is armed is cancelled
// first, in the same submission. The slot is free once everything has completed.
void UringEngine::begin_close(uint32_t slot, Stream& stream) {
  stream.closed = true;
  stream.aside.reset();
  stream.files.reset();
  if (stream.connecting) ring_->cancel(tag(kConnect, slot));
  if (stream.armed && !stream.cancelling) ring_->cancel(tag(kReceive, slot));
  if (stream.polled) ring_->cancel(tag(kRoom, slot));
  if (!stream.sending) stream.out.clear();
  if (stream.fd >= 0) {
    note_ring_close(stream.fd);
    ring_->close(std::exchange(stream.fd, -1), tag(kClose, slot));
    stream.closing_fd = true;
  } else {
    attend(slot, stream);
  }
}

void UringEngine::release(uint32_t slot, Stream& stream) {
  stream = Stream{.generation = stream.generation};
  streams_.release(slot);
}

Result<SocketAddress> UringEngine::local_address(StreamId id) const {
  const Stream* stream = peek(id);
  if (stream == nullptr) return fail(EBADF);
  return detail::local_address(stream->fd);
}

Result<SocketAddress> UringEngine::peer_address(StreamId id) const {
  const Stream* stream = peek(id);
  if (stream == nullptr) return fail(EBADF);
  return detail::peer_address(stream->fd);
}

uint64_t UringEngine::unsent_bytes(StreamId id) const {
  const Stream* stream = peek(id);
  return stream == nullptr ? 0 : detail::unsent_bytes(stream->fd);
}

Result<TcpFacts> UringEngine::tcp_facts(StreamId id) const {
  const Stream* stream = peek(id);
  if (stream == nullptr) return fail(EBADF);
  return detail::tcp_facts(stream->fd);
}

Result<void> UringEngine::set_option(StreamId id, SocketOption option, int value) {
  Stream* stream = find(id);
  if (stream == nullptr) return fail(EBADF);
  return set_socket_option(stream->fd, option, value);
}

WatchId UringEngine::watch(int fd, bool readable, bool writable, WatchEvents& events) {
  PEAL_ASSERT(ring_ != nullptr, "fd {} watched by the {} engine while it is not open", fd, name());
  uint32_t slot = watches_.acquire();
  Watch& watch = watches_[slot];
  watch.events = &events;
  watch.fd = fd;
  watch.asked = (readable ? uint32_t{POLLIN} : 0U) | (writable ? uint32_t{POLLOUT} : 0U);
  watch.leaving = false;
  arm_watch(slot, watch, false);
  return {slot, watch.generation};
}

void UringEngine::arm_watch(uint32_t slot, Watch& watch, bool edges) {
  ring_->poll(watch.fd, watch.asked, edges, tag(kWatch, slot));
  watch.armed = true;
}

void UringEngine::unwatch(WatchId id) {
  Watch* watch = watches_.find(id.slot, id.generation);
  if (watch == nullptr || watch->leaving) {
    ++stats_.stale_calls;
    return;
  }
  watch->leaving = true;
  // Unarmed, it is being told that it is ready: watch_ready() goes on from there.
  if (watch->armed) ring_->cancel(tag(kWatch, id.slot));
}

// One request reports one readiness; asking again after the call up makes that level-triggered. But a peer's FIN ends a
// poll for writability at once and always: then it waits for a change first.
void UringEngine::watch_ready(uint32_t slot, const Completion& completion) {
  Watch& watch = watches_[slot];
  watch.armed = completion.more();
  auto events = static_cast<uint32_t>(std::max(completion.result, 0));
  bool failed = completion.result < 0 && completion.result != -ECANCELED;
  bool trouble = failed || (events & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  bool told = trouble || (events & watch.asked) != 0;
  if (!watch.leaving && told) {
    watch.events->on_ready(trouble || (events & POLLIN) != 0, trouble || (events & POLLOUT) != 0);
    if (watch.armed && !watch.leaving) ring_->cancel(tag(kWatch, slot));
  }
  if (watch.armed) return;
  if (watch.leaving) {
    WatchEvents* owner = watch.events;
    watches_.release(slot);
    owner->on_unwatched();
  } else {
    arm_watch(slot, watch, !told && events != 0);
  }
}

void UringEngine::woken(int result) {
  wake_armed_ = false;
  if (result > 0) {
    waker_->noticed();
    ++stats_.wakeups;
  }
  if (shutting_) return;
  PEAL_ASSERT(result > 0 || result == -EINTR || result == -EAGAIN, "reading the waker's eventfd gave {}", result);
  ring_->read_eventfd(waker_->fd(), tag(kWake, 0));
  wake_armed_ = true;
}

size_t UringEngine::wait(TimePoint deadline) {
  PEAL_ASSERT(ring_ != nullptr && !shutting_, "waited for the {} engine while it is not open", name());
  return turn(deadline);
}

size_t UringEngine::turn(TimePoint deadline) {
  size_t count = listeners_.say_farewells();
  if (!attended_.empty()) count += attend_all();
  // Whoever was told something may have set a timer since the deadline was given.
  count += send_dirty();
  bool busy = count > 0 || !attended_.empty() || !dirty_.empty();
  TimePoint until = busy ? kPollOnly : std::min(deadline, listeners_.next_resume());
  if (ring_->enter(until)) ++stats_.waits;
  if (woke_at_ != nullptr) *woke_at_ = monotonic_now();
  std::array<Completion, kBatch> batch;
  size_t handled = 0;
  while (handled < kMostPerTurn) {
    size_t taken = ring_->take(batch);
    for (size_t i = 0; i < taken; ++i) dispatch(batch[i]);
    handled += taken;
    if (taken < batch.size()) break;
  }
  stats_.events += handled;
  if (listeners_.next_resume() != kNever) listeners_.resume(monotonic_now());
  return count + handled;
}

void UringEngine::dispatch(const Completion& completion) {
  auto slot = static_cast<uint32_t>(completion.tag);
  switch (static_cast<Kind>(completion.tag >> 32)) {
    case kReceive: return received(slot, streams_[slot], completion);
    case kSend: return sent(slot, streams_[slot], completion.result);
    case kRoom: return room_changed(slot, streams_[slot], completion);
    case kConnect: return connected(slot, streams_[slot], completion.result);
    case kClose: streams_[slot].closing_fd = false; return settle(slot, streams_[slot]);
    case kAccept: return listeners_.completed(slot, completion);
    case kWatch: return watch_ready(slot, completion);
    case kWake: return woken(completion.result);
  }
  // A cancel that found nothing to cancel: what it meant had completed.
}

// The ring's splice blocks, so the kernel hands each to a worker thread; moving the blocks costs less.
bool UringEngine::forward(StreamId /*from*/, StreamId /*to*/) { return false; }
uint64_t UringEngine::forwarded_bytes(StreamId /*from*/) const { return 0; }

Result<DatagramId> UringEngine::open_datagrams(const SocketAddress& local, DatagramEvents& events) {
  return datagrams_.open(local, events);
}
Result<SocketAddress> UringEngine::local_address(DatagramId id) const { return datagrams_.local_address(id); }
Result<void> UringEngine::send_datagram(DatagramId id, const SocketAddress& to, std::string_view bytes) {
  return datagrams_.send(id, to, bytes);
}
void UringEngine::close_datagrams(DatagramId id) { datagrams_.close(id); }

}  // namespace peal::detail
