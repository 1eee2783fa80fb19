// SPDX-License-Identifier: BSD-3-Clause
// SlowList: the connections that wait in the middle of a frame or an answer, in the order of their last progress. All
// of them have the same timeout, so the first connection in the list times out first. To set a timeout costs O(1), and
// idle connections cost nothing. The list is intrusive. Use it on one thread only.
#pragma once

#include <models/common/coroutine/list_links.h>
#include <peal/base/clock.h>

namespace peal::models {

// The base class of a connection that can time out. The connection is an element of a SlowList while its timeout is
// running. The destructor removes the connection from the list.
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
  // Creates an empty list. All its connections have the same timeout, `timeout`. 0 means that no connection ever times
  // out.
  explicit SlowList(Duration timeout) : timeout_(timeout) {}

  // Starts the timeout of the connection `node`, or starts it again. The timeout ends at `now` plus the `timeout` of
  // the list. To be called when the connection has made progress, but a frame or an answer is still incomplete.
  void came_on(SlowNode& node, TimePoint now) {
    node.unlink();
    if (timeout_ == Duration::zero()) return;
    node.until_ = now + timeout_;
    node.link_to_end_of(head_);
  }
  // Updates the timeout of the connection `node`. To be called each time the connection has made progress.
  // `in_the_middle` says whether a frame or an answer is still incomplete. If true, and the list has a timeout, the
  // timeout starts again at the time that now() returns. Otherwise the timeout is cancelled. In this case, follow()
  // does not call now(), so that a completely answered request does not cost a reading of the clock.
  template <class Clock = decltype(&monotonic_now)>
  void follow(SlowNode& node, bool in_the_middle, Clock now = &monotonic_now) {
    if (in_the_middle && timeout_ > Duration::zero()) {
      came_on(node, now());
    } else {
      node.unlink();
    }
  }
  // Returns the time at which the first connection in the list will time out. Returns kNever if the list is empty.
  TimePoint next() const { return head_.linked() ? first().until_ : kNever; }
  // Removes one connection whose timeout has ended at `now` or earlier, and returns it. Returns null if there is no
  // such connection.
  SlowNode* take_late(TimePoint now) {
    if (next() > now) return nullptr;
    SlowNode& late = first();
    late.unlink();
    return &late;
  }

 private:
  SlowNode& first() const { return static_cast<SlowNode&>(head_.first()); }  // all elements are SlowNodes

  const Duration timeout_;
  ListLinks head_;
};

}  // namespace peal::models
