// SPDX-License-Identifier: BSD-3-Clause
// Waiter: a suspended coroutine, of either kind, in the list of those who wait for the same thing. A stackful coroutine
// is one itself; a stackless one leaves one in its frame while it waits.
// One thread. A Waiter is in one list at most and owns nothing; it must not be destroyed while it is in one.
#pragma once

#include <models/common/coroutine/list_links.h>
#include <peal/base/assert.h>

namespace peal::models {

class Waiter : public ListLinks {
 public:
  // Runs the coroutine until it waits again or ends, when `this` may be gone.
  virtual void resume() = 0;

 protected:
  ~Waiter() = default;  // trivial, so that an awaitable can be one
};

// First come, first resumed.
class WaitList {
 public:
  ~WaitList() { PEAL_ASSERT(empty(), "coroutines wait for something that is gone"); }

  bool empty() const { return !head_.linked(); }
  void push_back(Waiter& waiter) {
    PEAL_ASSERT(!waiter.linked(), "a coroutine waits for two things");
    waiter.link_to_end_of(head_);
  }
  Waiter& pop_front() {
    PEAL_ASSERT(!empty(), "nobody waits");
    auto& first = static_cast<Waiter&>(head_.first());  // only Waiters come in
    first.unlink();
    return first;
  }
  // Takes over everybody in `other`.
  void append(WaitList& other) {
    while (!other.empty()) push_back(other.pop_front());
  }

 private:
  ListLinks head_;
};

}  // namespace peal::models
