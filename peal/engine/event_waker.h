// SPDX-License-Identifier: BSD-3-Clause
// EventWaker: the wake() of an engine that waits in the kernel: an eventfd the wait listens to. Counted, and it owns
// its fd, so it may outlive the engine. A wake() that nobody has noticed yet makes the next ones cost one exchange.
#pragma once

#include <atomic>

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal::detail {

class EventWaker final : public Waker {
 public:
  // Opens the eventfd, non-blocking and close-on-exec.
  EventWaker();

  // Any thread, at any time.
  void wake() override;

  // EMFILE, ENFILE, ENOMEM: open() of an engine whose waker failed answers with it.
  Result<void> ready() const;
  // Readable once somebody woke.
  int fd() const { return fd_.get(); }
  // Somebody woke, and drain() has not noticed.
  bool woken() const { return pending_.load(std::memory_order_acquire); }
  // On the engine's thread, after the wait: empties the eventfd. What was posted before a wake() this takes in is
  // visible from here on.
  void drain();
  // The same, not emptied: an edge-triggered poller reports each wake() anew.
  void clear_pending() { pending_.exchange(false, std::memory_order_acq_rel); }

 private:
  Fd fd_;
  int error_ = 0;
  std::atomic<bool> pending_ = false;
};

}  // namespace peal::detail
