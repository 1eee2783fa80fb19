// SPDX-License-Identifier: BSD-3-Clause
// Waiter: a suspended coroutine that can be an element of a list. A stackful coroutine is a Waiter itself. A stackless
// coroutine has a Waiter in its frame while it waits.
//
// Use a Waiter on one thread only. A Waiter is in at most one list, and owns nothing. It must not be destroyed while it
// is in a list.
#pragma once

#include <models/common/coroutine/list_links.h>
#include <peal/base/assert.h>

namespace peal::models {

class Waiter : public ListLinks {
 public:
  // Runs the coroutine until it waits again or ends. The coroutine may destroy this Waiter during the call. Do not use
  // the Waiter after the call.
  virtual void resume() = 0;

 protected:
  ~Waiter() = default;  // trivial, because an awaitable that is a Waiter must be trivially destructible
};

// A first-in-first-out queue of suspended coroutines. The queue does not own the coroutines.
class WaitList {
 public:
  ~WaitList() { PEAL_ASSERT(empty(), "a list was destroyed while coroutines waited in it"); }

  bool empty() const { return !head_.linked(); }
  void push_back(Waiter& waiter) {
    PEAL_ASSERT(!waiter.linked(), "a coroutine that waits already cannot wait in a second list");
    waiter.link_to_end_of(head_);
  }
  Waiter& pop_front() {
    PEAL_ASSERT(!empty(), "no coroutine waits in this list");
    auto& first = static_cast<Waiter&>(head_.first());  // all elements are Waiters
    first.unlink();
    return first;
  }
  // Moves all coroutines in `other` to the end of this list.
  void append(WaitList& other) {
    while (!other.empty()) push_back(other.pop_front());
  }

 private:
  ListLinks head_;
};

}  // namespace peal::models
