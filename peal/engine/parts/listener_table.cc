// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/listener_table.h>

#include <sys/socket.h>

#include <cerrno>

#include <peal/base/assert.h>
#include <peal/engine/parts/socket_calls.h>

namespace peal::detail {

Result<ListenerId> ListenerTable::bind(const SocketAddress& address, const ListenOptions& options) {
  Result<Fd> fd = open_listener(address, options);
  if (!fd) return std::unexpected(fd.error());
  return enter(std::move(*fd), false, false);
}

Result<ListenerId> ListenerTable::adopt(Fd listening, const AdoptOptions& options) {
  if (Result<void> done = prepare_listener(listening.get(), options.socket); !done) {
    return std::unexpected(done.error());
  }
  return enter(std::move(listening), true, options.shared);
}

ListenerId ListenerTable::enter(Fd fd, bool adopted, bool shared) {
  uint32_t slot = listeners_.acquire();
  Listener& listener = listeners_[slot];
  listener.fd = std::move(fd);
  listener.events = nullptr;
  listener.resume_at = kNever;
  listener.armed = listener.stopping = false;
  listener.adopted = adopted;
  listener.shared = shared;
  return {slot, listener.generation};
}

void ListenerTable::close(Fd fd, bool adopted) {
  if (!adopted) close_bound(std::move(fd));
}

Result<SocketAddress> ListenerTable::local_address(ListenerId id) const {
  const Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener == nullptr || listener->stopping) return fail(EBADF);
  return detail::local_address(listener->fd.get());
}

ListenerTable::Listener* ListenerTable::find(ListenerId id) {
  Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener != nullptr && !listener->stopping) return listener;
  ++stats_.stale_calls;
  return nullptr;
}

ListenerTable::Listener* ListenerTable::begin_accept(ListenerId id, AcceptEvents& events) {
  Listener* listener = find(id);
  if (listener == nullptr) return nullptr;
  PEAL_ASSERT(listener->events == nullptr, "listener {} accepts already", id.slot);
  PEAL_ASSERT(guard_ != nullptr, "listener {} accepts while the engine is not open", id.slot);
  listener->events = &events;
  return listener;
}

void ListenerTable::pause(Listener& listener, TimePoint now) {
  PEAL_ASSERT(listener.resume_at == kNever, "fd {} is paused already", listener.fd.get());
  listener.resume_at = now + guard_->pause();
  next_resume_ = std::min(next_resume_, listener.resume_at);
}

size_t ListenerTable::accept_late(int fd, AcceptEvents& events) {
  size_t count = 0;
  for (size_t tries = 0; tries < kMostLate; ++tries) {
    Fd late(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!late && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!late) break;
    ++count;
    ++stats_.accepts;
    ++stats_.accepted_late;
    events.on_accepted(LooseStream(std::move(late)));
  }
  return count;
}

}  // namespace peal::detail
