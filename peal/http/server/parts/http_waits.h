// SPDX-License-Identifier: BSD-3-Clause
// HttpWaits: what the connections of one loop wait for, and until when.
//
// All that wait for the same thing are given the same time, so each kind is a list in the order of its ends: entering
// and leaving cost a few stores, and one timer of the loop serves them all. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <peal/base/clock.h>

namespace peal::detail {

enum class HttpWait : uint8_t {
  kHead,    // for the end of a head
  kIdle,    // for the next request
  kBody,    // for some of a body
  kAnswer,  // for its handler to begin the answer
  kGrace,   // for a last request, while the server drains
  kNothing,
};

// What a connection has of it. Leaves before it dies.
struct HttpWaiter {
  // The time ended that was given to `what`.
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

  // From now on it waits for `what`, whatever it waited for before. A time of 0: for ever, which is nothing.
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
  // How long it has waited already.
  Duration waited(const HttpWaiter& waiter, TimePoint now) const {
    if (waiter.wait == HttpWait::kNothing) return Duration::max();
    return now - (waiter.due - times_[static_cast<size_t>(waiter.wait)]);
  }
  // The one whose time ends first, or null.
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
