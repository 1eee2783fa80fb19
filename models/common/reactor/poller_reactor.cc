// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/poller_reactor.h>

#include <models/common/reactor/by_fd.h>
#include <peal/base/assert.h>

namespace peal::models {

Result<std::unique_ptr<PollerReactor>> PollerReactor::make(PollerKind kind, size_t events_per_wait) {
  Result<std::unique_ptr<ReadyPoller>> poller = ReadyPoller::make(kind, events_per_wait);
  if (!poller) return std::unexpected(poller.error());
  return std::unique_ptr<PollerReactor>(new PollerReactor(std::move(*poller)));
}

Result<void> PollerReactor::add(int fd, PollFor what, Handler& handler, Wake wake) {
  Handler*& place = entry_of(handlers_, fd);
  PEAL_ASSERT(place == nullptr, "fd {} has a handler already", fd);
  Result<void> added = poller_->add(fd, what, wake);
  if (added) place = &handler;
  return added;
}

void PollerReactor::change(int fd, PollFor what) {
  const Result<void> done = poller_->change(fd, what);
  PEAL_ASSERT(done.has_value(), "the poller cannot change what fd {} waits for: {}", fd, done.error().message());
}

void PollerReactor::remove(int fd) {
  poller_->remove(fd);
  handlers_[static_cast<size_t>(fd)] = nullptr;
}

Result<void> PollerReactor::run(Owner& owner) {
  while (!stopping_) {
    Result<std::span<const int>> ready = poller_->wait(owner.next_deadline());
    if (!ready) return std::unexpected(ready.error());
    for (const int fd : *ready) {
      // A handler that was called earlier for this batch of events may have removed `fd`. In this case, the handler of
      // `fd` is null.
      if (Handler* handler = handlers_[static_cast<size_t>(fd)]) handler->on_ready(fd);
    }
    owner.after_batch();
  }
  return {};
}

}  // namespace peal::models
