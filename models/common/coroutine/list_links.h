// SPDX-License-Identifier: BSD-3-Clause
// ListLinks: what an element of an intrusive list has of its neighbours. A list is a ring through its head, which is
// empty when the head is alone. Nothing is owned; one thread.
#pragma once

namespace peal::models {

class ListLinks {
 public:
  ListLinks() = default;
  ListLinks(const ListLinks&) = delete;
  ListLinks& operator=(const ListLinks&) = delete;

  // It is in a list; of a head: somebody else is.
  bool linked() const { return next_ != this; }
  // Leaves the list, if it is in one.
  void unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }
  // Of a head that is linked.
  ListLinks& first() const { return *next_; }
  // Of an element that is in no list: becomes the last.
  void link_to_end_of(ListLinks& head) {
    previous_ = head.previous_;
    next_ = &head;
    head.previous_->next_ = this;
    head.previous_ = this;
  }

 private:
  ListLinks* previous_ = this;
  ListLinks* next_ = this;
};

}  // namespace peal::models
