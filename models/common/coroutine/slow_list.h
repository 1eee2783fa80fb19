// SPDX-License-Identifier: BSD-3-Clause
// SlowList: the connections that wait for their client in the middle of something, in the order in which they last came
// on. Every one has the same time, so the first is the next to be closed: a timer that costs O(1) and only those who
// are slow. An intrusive list; one thread.
#pragma once

#include <peal/base/assert.h>
#include <peal/base/clock.h>

namespace peal::models {

// What a connection in a SlowList has; leaves the list when it is destroyed.
class SlowNode {
 public:
  SlowNode() = default;
  SlowNode(const SlowNode&) = delete;
  SlowNode& operator=(const SlowNode&) = delete;
  ~SlowNode() { unlink(); }

  bool linked() const { return next_ != this; }
  void unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }

 private:
  friend class SlowList;

  SlowNode* previous_ = this;
  SlowNode* next_ = this;
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
    node.previous_ = head_.previous_;
    node.next_ = &head_;
    head_.previous_->next_ = &node;
    head_.previous_ = &node;
  }
  // When somebody will be too slow; kNever when nobody is slow.
  TimePoint next() const { return head_.linked() ? head_.next_->until_ : kNever; }
  // Takes out one who is too slow by `now`; null when nobody is.
  SlowNode* take_late(TimePoint now) {
    if (next() > now) return nullptr;
    SlowNode* node = head_.next_;
    node->unlink();
    return node;
  }

 private:
  const Duration timeout_;
  SlowNode head_;
};

}  // namespace peal::models
