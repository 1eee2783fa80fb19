// SPDX-License-Identifier: BSD-3-Clause
// SlowList: the connections that wait for their client in the middle of something, in the order in which they last came
// on. Every one has the same time, so the first is the next to be closed: a timer that costs O(1) and only those who
// are slow. An intrusive list; one thread.
#pragma once

#include <models/common/coroutine/list_links.h>
#include <peal/base/clock.h>

namespace peal::models {

// What a connection in a SlowList has; leaves the list when it is destroyed.
class SlowNode : public ListLinks {
 public:
  SlowNode() = default;
  ~SlowNode() { unlink(); }

 private:
  friend class SlowList;

  TimePoint until_;
};

class SlowList {
 public:
  // 0: nobody is ever too slow.
  explicit SlowList(Duration timeout) : timeout_(timeout) {}

  // `node` came on, and is in the middle of something still: it has the whole time again.
  void came_on(SlowNode& node, TimePoint now) {
    node.unlink();
    if (timeout_ == Duration::zero()) return;
    node.until_ = now + timeout_;
    node.link_to_end_of(head_);
  }
  // `node` made progress. In the middle of a request its timeout starts again; otherwise it leaves the list. Reads the
  // clock only in the first case.
  template <class Clock = decltype(&monotonic_now)>
  void follow(SlowNode& node, bool in_the_middle, Clock now = &monotonic_now) {
    if (in_the_middle && timeout_ > Duration::zero()) {
      came_on(node, now());
    } else {
      node.unlink();
    }
  }
  // When somebody will be too slow; kNever when nobody is slow.
  TimePoint next() const { return head_.linked() ? first().until_ : kNever; }
  // Takes out one who is too slow by `now`; null when nobody is.
  SlowNode* take_late(TimePoint now) {
    if (next() > now) return nullptr;
    SlowNode& late = first();
    late.unlink();
    return &late;
  }

 private:
  SlowNode& first() const { return static_cast<SlowNode&>(head_.first()); }  // only SlowNodes come in

  const Duration timeout_;
  ListLinks head_;
};

}  // namespace peal::models
