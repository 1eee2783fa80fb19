// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/parts/sim_engine.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/engine/pollable.h>

namespace peal::detail {

SimEngine::SimEngine(std::shared_ptr<SimNetwork> network, std::shared_ptr<const SimHost> host)
    : network_(std::move(network)), host_(std::move(host)) {}

// Does the work of shut(). If the engine was never opened, shut() does nothing, so the listeners that were bound before
// open() are stopped here.
SimEngine::~SimEngine() {
  shut();
  for (uint32_t slot = 0; slot < listeners_.capacity(); ++slot) {
    if (uint32_t generation = listeners_[slot].generation; generation != 0) stop({slot, generation});
  }
}

Result<void> SimEngine::open() {
  PEAL_ASSERT(!open_ && !shutting_, "the sim engine opened twice, with {} streams", streams_.size());
  Result<void> woken = waker_->ready();
  open_ = woken.has_value();
  return woken;
}

void SimEngine::shut() {
  if (!open_) return;
  flush_before_shut();
  shutting_ = true;
  // The loop repeats because a last completion may connect or adopt a new stream, which has to be closed in the next
  // round.
  constexpr int kMostRounds = 1000;
  for (int round = 0;; ++round) {
    PEAL_ASSERT(round < kMostRounds, "streams are still being made after {} rounds of closing", round);
    auto each = [](auto& table, auto&& leave) {
      for (uint32_t slot = 0; slot < table.capacity(); ++slot) {
        if (uint32_t generation = table[slot].generation; generation != 0) leave(slot, generation);
      }
    };
    each(listeners_, [this](uint32_t slot, uint32_t generation) { stop({slot, generation}); });
    each(streams_, [this](uint32_t slot, uint32_t) { release_stream(slot, CloseHow::kNormal, false); });
    each(watches_, [this](uint32_t slot, uint32_t generation) { unwatch({slot, generation}); });
    each(datagrams_, [this](uint32_t slot, uint32_t) { datagrams_[slot].close(); });
    if (last_completions_.empty()) break;
    deliver_last_completions();
  }
  open_ = false;
}

Result<ListenerId> SimEngine::bind(const SocketAddress& address, const ListenOptions& options) {
  auto socket = std::make_shared<SimListener>();
  socket->address = address;
  socket->options = options;
  socket->host = host_;
  if (int error = network_->listen(socket); error != 0) return fail(error);
  const uint32_t slot = listeners_.acquire();
  Listener& listener = listeners_[slot];
  listener.socket = std::move(socket);
  listener.events = nullptr;
  listener.pause = {};
  listener.paused = listener.listed = false;
  return ListenerId{slot, listener.generation};
}

Result<SocketAddress> SimEngine::local_address(ListenerId id) const {
  const Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener == nullptr) return fail(EBADF);
  return listener->socket->address;
}

void SimEngine::accept(ListenerId id, AcceptEvents& events) {
  Listener* listener = find(listeners_, id);
  if (listener == nullptr) return;
  PEAL_ASSERT(listener->events == nullptr, "listener {} accepts already", id.slot);
  listener->events = &events;
  listener->socket->owner = this;
  listener->socket->slot = id.slot;
  mark_ready(listeners_, Kind::kListener, id.slot);
}

// Stops a listener. Connections that wait in the listener were established before stop(), so on_accepted() still gets
// them.
void SimEngine::stop(ListenerId id) {
  Listener* listener = find(listeners_, id);
  if (listener == nullptr) return;
  std::shared_ptr<SimListener> socket = std::move(listener->socket);
  AcceptEvents* events = listener->events;
  network_->stop(socket);
  socket->owner = nullptr;
  listeners_.release(id.slot);
  if (events == nullptr) {
    for (const auto& end : socket->waiting) end->close(true);
    return;
  }
  last_completions_.emplace_back([this, socket = std::move(socket), events] {
    for (std::shared_ptr<SimEnd>& end : socket->waiting) {
      if (shutting_) {
        end->close(true);
        continue;
      }
      ++stats_.accepts;
      ++stats_.accepted_late;
      events->on_accepted(LooseStream(std::make_unique<SimLooseStream>(network_, std::move(end))));
    }
    events->on_accept_stopped();
  });
}

void SimEngine::serve_listener(uint32_t slot) {
  constexpr int kAcceptsPerTurn = 64;
  const uint32_t generation = listeners_[slot].generation;
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Listener* listener = listeners_.find(slot, generation);
    if (listener == nullptr || listener->paused || listener->socket->waiting.empty()) return;
    if (network_->strikes(SimFaultKind::kNoFd, {}, listener->socket->address)) return pause_accepting(slot);
    listener->pause = {};
    std::shared_ptr<SimEnd> end = std::move(listener->socket->waiting.front());
    listener->socket->waiting.pop_front();
    network_->trace("is accepted", *end, 0);
    ++stats_.accepts;
    ++stats_.events;
    listener->events->on_accepted(LooseStream(std::make_unique<SimLooseStream>(network_, std::move(end))));
    flush_all();
  }
  mark_ready(listeners_, Kind::kListener, slot);
}

// Does what a real engine does if no fd is left (listener_set.h): closes some of the waiting connections, then pauses
// accepting.
void SimEngine::pause_accepting(uint32_t slot) {
  constexpr size_t kShedAtOnce = 16;
  constexpr Duration kFirst = std::chrono::milliseconds(10);
  constexpr Duration kLongest = std::chrono::seconds(1);
  Listener& listener = listeners_[slot];
  auto& waiting = listener.socket->waiting;
  const size_t shed = std::min(kShedAtOnce, waiting.size());
  network_->trace("sheds", slot, shed);
  ++stats_.accepts_failed;
  ++stats_.accept_pauses;
  stats_.accepts_shed += shed;
  for (size_t i = 0; i < shed; ++i) waiting[i]->close(false);
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(shed));
  listener.pause = listener.pause == Duration{} ? kFirst : std::min(listener.pause * 2, kLongest);
  listener.paused = true;
  network_->after(listener.pause, [this, slot, generation = listener.generation, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || listeners_.find(slot, generation) == nullptr) return;
    listeners_[slot].paused = false;
    mark_ready(listeners_, Kind::kListener, slot);
  });
}

StreamId SimEngine::add_stream(std::shared_ptr<SimEnd> end, Buffer early, bool connecting, StreamEvents& events) {
  PEAL_ASSERT(open_, "a stream added to a sim engine that is not open; {} are there", streams_.size());
  const uint32_t slot = streams_.acquire();
  Stream& stream = streams_[slot];
  stream.events = &events;
  stream.end = std::move(end);
  stream.early = std::move(early);
  stream.connecting = connecting;
  stream.end->set_owner(this, slot);
  return {slot, stream.generation};
}

StreamId SimEngine::connect(const SocketAddress& address, const ConnectOptions& options, StreamEvents& events) {
  return add_stream(network_->connect(address, options, host_), {}, true, events);
}

StreamId SimEngine::adopt(LooseStream loose, StreamEvents& events) {
  const std::unique_ptr<LooseStream::Foreign> foreign = loose.take_foreign();
  auto* own = dynamic_cast<SimLooseStream*>(foreign.get());
  PEAL_ASSERT(own != nullptr && own->network() == network_.get(),
              "a stream of another network adopted by a sim engine; it has {}", streams_.size());
  return add_stream(own->take_end(), std::move(loose.early()), false, events);
}

void SimEngine::release_stream(uint32_t slot, CloseHow how, bool detach) {
  Stream& stream = streams_[slot];
  StreamEvents* events = stream.events;
  std::shared_ptr<SimEnd> end = std::move(stream.end);
  Buffer early = std::move(stream.early);
  const size_t lost = shutting_ ? stream.queued() : 0;
  stats_.lost_bytes += lost;
  static_cast<SlotLinks&>(stream) = std::exchange(stream, Stream{});
  streams_.release(slot);
  if (!detach) {
    end->close(how == CloseHow::kReset);
    last_completions_.emplace_back([events, lost] {
      if (lost > 0) events->on_output_lost(lost);
      events->on_closed();
    });
    return;
  }
  end->set_owner(nullptr, 0);
  last_completions_.emplace_back([this, events, end = std::move(end), early = std::move(early)]() mutable {
    events->on_detached(LooseStream(std::make_unique<SimLooseStream>(network_, std::move(end)), std::move(early)));
  });
}

void SimEngine::close(StreamId id, CloseHow how) {
  if (find(id) != nullptr) release_stream(id.slot, how, false);
}

Result<SocketAddress> SimEngine::local_address(StreamId id) const {
  const Stream* stream = streams_.find(id.slot, id.generation);
  if (stream == nullptr) return fail(EBADF);
  return stream->end->local;
}

Result<SocketAddress> SimEngine::peer_address(StreamId id) const {
  const Stream* stream = streams_.find(id.slot, id.generation);
  if (stream == nullptr) return fail(EBADF);
  return stream->end->peer;
}

Result<void> SimEngine::set_option(StreamId id, SocketOption option, int value) {
  Stream* stream = streams_.find(id.slot, id.generation);
  if (stream == nullptr) return fail(EBADF);
  if (option == SocketOption::kSendBuffer) stream->end->set_send_buffer(static_cast<uint32_t>(value));
  if (option == SocketOption::kReceiveBuffer) stream->end->set_receive_buffer(static_cast<uint32_t>(value));
  return {};
}

Result<WatchId> SimEngine::watch(int fd, bool readable, bool writable, WatchEvents& events) {
  if (Result<void> checked = check_pollable(fd); !checked) return std::unexpected(checked.error());
  const uint32_t slot = watches_.acquire();
  Watch& watch = watches_[slot];
  watch.wanted = {.fd = fd, .events = static_cast<short>((readable ? POLLIN : 0) | (writable ? POLLOUT : 0))};
  watch.events = &events;
  ++watched_;
  return WatchId{slot, watch.generation};
}

void SimEngine::unwatch(WatchId id) {
  Watch* watch = find(watches_, id);
  if (watch == nullptr) return;
  last_completions_.emplace_back([events = watch->events] { events->on_unwatched(); });
  watches_.release(id.slot);
  --watched_;
}

// Polls the watched fds. If `sleep` is true, the poll sleeps in real time until an fd is ready or wake() is called. If
// poll(2) fails, for example with EINTR, no fd counts as ready.
void SimEngine::poll_watches(bool sleep) {
  if (watched_ == 0 && !sleep) return;
  std::vector<pollfd> fds{{.fd = waker_->fd(), .events = POLLIN, .revents = 0}};
  std::vector<WatchId> ids{WatchId{}};
  for (uint32_t slot = 0; slot < watches_.capacity(); ++slot) {
    if (watches_[slot].generation == 0) continue;
    fds.push_back(watches_[slot].wanted);
    ids.push_back({slot, watches_[slot].generation});
  }
  if (::poll(fds.data(), fds.size(), sleep ? -1 : 0) <= 0) return;
  for (size_t i = 1; i < fds.size(); ++i) {
    Watch* watch = watches_.find(ids[i].slot, ids[i].generation);
    const int seen = fds[i].revents;
    if (watch == nullptr || seen == 0) continue;
    const bool trouble = (seen & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    ++stats_.events;
    watch->events->on_ready((watch->wanted.events & POLLIN) != 0 && (trouble || (seen & POLLIN) != 0),
                            (watch->wanted.events & POLLOUT) != 0 && (trouble || (seen & POLLOUT) != 0));
    flush_all();
  }
}

void SimEngine::slot_ready(Kind kind, uint32_t slot) {
  switch (kind) {
    case Kind::kStream: return mark_ready(streams_, kind, slot);
    case Kind::kListener: return mark_ready(listeners_, kind, slot);
    case Kind::kDatagrams: return mark_ready(datagrams_, kind, slot);
  }
}

// Serves the streams, listeners and sockets of the ready list in random order, because no engine promises an order
// among them.
void SimEngine::serve_ready() {
  std::vector<Ready> now_ready = std::exchange(ready_, {});
  for (size_t left = now_ready.size(); left > 1; --left) {
    std::swap(now_ready[left - 1], now_ready[network_->random(left)]);
  }
  auto still = [](auto& table, const Ready& ready) {
    auto* object = table.find(ready.slot, ready.generation);
    if (object != nullptr) object->listed = false;
    return object != nullptr;
  };
  for (const Ready& ready : now_ready) {
    switch (ready.kind) {
      case Kind::kStream:
        if (still(streams_, ready)) serve_stream(ready.slot);
        break;
      case Kind::kListener:
        if (still(listeners_, ready)) serve_listener(ready.slot);
        break;
      case Kind::kDatagrams:
        if (still(datagrams_, ready)) serve_datagrams(ready.slot);
        break;
    }
  }
}

void SimEngine::deliver_last_completions() {
  for (auto& completion : std::exchange(last_completions_, {})) {
    ++stats_.events;
    completion();
  }
}

void SimEngine::run_before_wait() {
  for (auto& task : std::exchange(before_wait_, {})) stats_.events += task() ? 1 : 0;
}

void SimEngine::turn() {
  bulk_budget_ = kBulkTurnBytes;
  run_before_wait();
  flush_all();
  network_->run_due();
  poll_watches(false);
  if (waker_->woken()) {
    waker_->drain();
    ++stats_.wakeups;
    ++stats_.events;
  }
  serve_ready();
  flush_all();
  deliver_last_completions();
}

// Moves the clock to the next event, but not beyond `deadline`. If no event will come and `deadline` is kNever, sleeps
// in real time instead. Does neither if the engine has work to do or wake() was called. Returns false if `deadline` was
// already reached, so that the wait is over.
bool SimEngine::pass_time(TimePoint deadline) {
  if (deadline <= network_->now()) return false;
  if (has_work() || waker_->woken()) return true;
  const TimePoint next = std::min(network_->next_due(), deadline);
  if (next == kNever) {
    poll_watches(true);
  } else {
    network_->advance_to(next);
  }
  return true;
}

size_t SimEngine::wait(TimePoint deadline) {
  PEAL_ASSERT(open_, "wait() on a sim engine that is not open, after {} waits", stats_.waits);
  ++stats_.waits;
  const uint64_t before = stats_.events;
  if (host_) deadline = host_->world(deadline);
  asked_until_ = deadline;
  turn();
  if (!network_->stepping) {
    while (stats_.events == before && bulk_budget_ > 0 && before_wait_.empty() && pass_time(deadline)) turn();
  }
  return stats_.events - before;
}

}  // namespace peal::detail
