// SPDX-License-Identifier: BSD-3-Clause
// EventWaker: the Waker of an engine that waits in the kernel. wake() writes to an eventfd that the wait listens to.
// The waker is held by shared_ptr and owns its fd, so it may outlive the engine. If an earlier wake() is not noticed
// yet, another one costs an atomic exchange and no system call.
#pragma once

#include <atomic>

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal::detail {

class EventWaker final : public Waker {
 public:
  // Opens the eventfd, non-blocking and close-on-exec. If that fails, ready() returns the error.
  EventWaker();

  // Ends the engine's wait(). May be called on any thread, at any time.
  void wake() override;

  // Returns success, or the error with which the constructor failed to open the eventfd: EMFILE, ENFILE or ENOMEM.
  // Engine::open() fails with the same error.
  Result<void> ready() const;
  // Returns the eventfd. It is readable after a wake().
  int fd() const { return fd_.get(); }
  // Returns whether wake() was called since the last drain() or clear_pending().
  bool woken() const { return pending_.load(std::memory_order_acquire); }
  // Empties the eventfd and clears the mark that woken() returns. Must be called on the engine's thread, after the
  // wait. Data that another thread wrote before its wake() is visible to the engine's thread when drain() returns.
  void drain();
  // Clears the mark that woken() returns, as drain() does, but does not empty the eventfd. An edge-triggered poller
  // needs no more, because it reports each wake() anew.
  void clear_pending() { pending_.exchange(false, std::memory_order_acq_rel); }

 private:
  Fd fd_;
  int error_ = 0;  // Errno of eventfd(2); 0 if it succeeded.
  // True if a wake() has written to the eventfd and the engine has not noticed that yet.
  std::atomic<bool> pending_ = false;
};

}  // namespace peal::detail
