// SPDX-License-Identifier: BSD-3-Clause
// HttpWaits: what the connections of one loop wait for, and until when.
//
// Waits of one kind all last equally long. Each kind is therefore a list that is sorted by end without any work: a new
// wait is appended. Entering and leaving a list cost a few stores, and one timer of the loop serves all lists. Only one
// thread uses the object.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <peal/base/clock.h>

namespace peal::detail {

enum class HttpWait : uint8_t {
  kHead,     // for the end of a head
  kIdle,     // for the next request
  kBody,     // for a part of a body that the handler wants
  kAnswer,   // for the handler to begin its answer
  kGrace,    // for a last request, while the server drains
  kNothing,  // for nothing: the waiter is in no list
};

// HttpWaiter: base class of a session, which makes the session an element of a list in HttpWaits. A waiter must leave
// its list before it is destroyed.
struct HttpWaiter {
  // Called when the time limit for `what` has passed. The waiter is in no list at that time.
  virtual void timed_out(HttpWait what) = 0;

  HttpWaiter* next = nullptr;
  HttpWaiter* previous = nullptr;
  TimePoint due{};
  HttpWait wait = HttpWait::kNothing;

 protected:
  ~HttpWaiter() = default;
};

class HttpWaits {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(HttpWait::kNothing);

  explicit HttpWaits(std::array<Duration, kKinds> times) : times_(times) {
    for (Duration& time : times_) time = bounded(time);
  }

  // Makes the waiter wait for `what` from now on, and ends its earlier wait. If the time limit for `what` is 0, the
  // waiter waits for nothing.
  void enter(HttpWaiter& waiter, HttpWait what, TimePoint now) {
    const auto kind = static_cast<size_t>(what);
    if (waiter.wait == what && waiter.next == nullptr) {
      waiter.due = now + times_[kind];
      return;
    }
    leave(waiter);
    if (times_[kind] <= Duration::zero()) return;
    waiter.wait = what;
    waiter.due = now + times_[kind];
    List& list = lists_[kind];
    waiter.next = nullptr;
    waiter.previous = list.last;
    (list.last == nullptr ? list.first : list.last->next) = &waiter;
    list.last = &waiter;
  }

  void leave(HttpWaiter& waiter) {
    if (waiter.wait == HttpWait::kNothing) return;
    List& list = lists_[static_cast<size_t>(waiter.wait)];
    (waiter.previous == nullptr ? list.first : waiter.previous->next) = waiter.next;
    (waiter.next == nullptr ? list.last : waiter.next->previous) = waiter.previous;
    waiter.wait = HttpWait::kNothing;
  }

  // Returns how long the waiter has waited, or Duration::max() if it waits for nothing.
  Duration waited(const HttpWaiter& waiter, TimePoint now) const {
    if (waiter.wait == HttpWait::kNothing) return Duration::max();
    return now - (waiter.due - times_[static_cast<size_t>(waiter.wait)]);
  }

  // Returns the waiter whose deadline comes first, or null if no waiter has a deadline.
  HttpWaiter* first() const {
    HttpWaiter* found = nullptr;
    for (const List& list : lists_) {
      if (list.first != nullptr && (found == nullptr || list.first->due < found->due)) found = list.first;
    }
    return found;
  }

 private:
  struct List {
    HttpWaiter* first = nullptr;
    HttpWaiter* last = nullptr;
  };

  std::array<Duration, kKinds> times_;
  std::array<List, kKinds> lists_;
};

}  // namespace peal::detail
