// SPDX-License-Identifier: BSD-3-Clause
// ListLinks: the two links from an element of an intrusive list to its neighbours. The list is a ring that includes a
// head. The list is empty if the ring has only the head. A list does not own its elements. Use a list on one thread
// only.
#pragma once

namespace peal::models {

class ListLinks {
 public:
  ListLinks() = default;
  ListLinks(const ListLinks&) = delete;
  ListLinks& operator=(const ListLinks&) = delete;

  // Can be called on an element or on the head of a list. On an element: true if the element is in a list. On a head:
  // true if the list is not empty.
  bool linked() const { return next_ != this; }
  // Removes the element from its list. Does nothing if the element is in no list.
  void unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }
  // Returns the first element of a list. Call first() only on the head of the list. The list must not be empty.
  ListLinks& first() const { return *next_; }
  // Appends this element to the list with the head `head`. The element must not be in a list.
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
