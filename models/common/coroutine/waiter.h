// SPDX-License-Identifier: BSD-3-Clause
// Waiter: a suspended coroutine, of either kind, in the list of those who wait for the same thing. A stackful coroutine
// is one itself; a stackless one leaves one in its frame while it waits.
// One thread. A Waiter is in one list at most and owns nothing; it must not be destroyed while it is in one.
#pragma once

#include <peal/base/assert.h>

namespace peal::models {

class WaitLinks {
 public:
  WaitLinks() = default;
  WaitLinks(const WaitLinks&) = delete;
  WaitLinks& operator=(const WaitLinks&) = delete;

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    PEAL_ASSERT(linked(), "a coroutine that waits for nothing leaves a list");
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }

 private:
  friend class WaitList;

  WaitLinks* previous_ = nullptr;
  WaitLinks* next_ = nullptr;
};

class Waiter : public WaitLinks {
 public:
  // Runs the coroutine until it waits again or ends, when `this` may be gone.
  virtual void resume() = 0;

 protected:
  ~Waiter() = default;  // trivial, so that an awaitable can be one
};

// First come, first resumed.
class WaitList {
 public:
  WaitList() { head_.previous_ = head_.next_ = &head_; }
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  ~WaitList() { PEAL_ASSERT(empty(), "coroutines wait for something that is gone"); }

  bool empty() const { return head_.next_ == &head_; }
  void push_back(Waiter& waiter) {
    PEAL_ASSERT(!waiter.linked(), "a coroutine waits for two things");
    waiter.previous_ = head_.previous_;
    waiter.next_ = &head_;
    head_.previous_->next_ = &waiter;
    head_.previous_ = &waiter;
  }
  Waiter& pop_front() {
    PEAL_ASSERT(!empty(), "nobody waits");
    auto& first = static_cast<Waiter&>(*head_.next_);  // only Waiters come in
    first.unlink();
    return first;
  }
  // Takes over everybody in `other`.
  void append(WaitList& other) {
    while (!other.empty()) push_back(other.pop_front());
  }

 private:
  WaitLinks head_;
};

}  // namespace peal::models
