// SPDX-License-Identifier: BSD-3-Clause
// AsyncQueue: a bounded queue (a channel) between coroutines of one loop. push() waits while the queue is full, pop()
// while it is empty; both serve first come, first served.
//
//   while (auto order = co_await orders.pop()) serve(*order);   // until it is closed and empty
#pragma once

#include <cerrno>
#include <deque>
#include <optional>
#include <utility>

#include <peal/coro/task.h>

namespace peal {

template <class T>
class AsyncQueue {
 public:
  class Push;
  class Pop;

  // Makes a queue that holds at most `limit` items; `limit` must be > 0.
  explicit AsyncQueue(size_t limit) : limit_(limit) {
    PEAL_ASSERT(limit > 0, "the limit of an AsyncQueue must be above 0, not {}", limit);
  }
  ~AsyncQueue() {
    PEAL_ASSERT(pushing_.empty() && popping_.empty(), "an AsyncQueue of {} items is destroyed while tasks wait in it",
                items_.size());
  }
  AsyncQueue(const AsyncQueue&) = delete;
  AsyncQueue& operator=(const AsyncQueue&) = delete;

  // Waits until the queue has room, then appends the item. The await returns Result<void>, and fails with EPIPE if the
  // queue is closed. After any error, the item was not appended and is destroyed.
  Push push(T item) { return Push(*this, std::move(item)); }
  // Waits until the queue has an item, then removes the first item. The await returns Result<T>, and fails with EPIPE
  // if the queue is closed and empty.
  Pop pop() { return Pop(*this); }
  // Appends the item if the queue has room and is not closed. Otherwise returns false and leaves `item` unchanged.
  // Never waits, so callbacks may call this function.
  bool try_push(T& item) {
    if (closed_ || items_.size() >= limit_) return false;
    add(std::move(item));
    return true;
  }
  // Removes and returns the first item. Returns nullopt if the queue is empty. Never waits, so callbacks may call this
  // function.
  std::optional<T> try_pop() {
    std::optional<T> item;
    if (!items_.empty()) item.emplace(take());
    return item;
  }
  // Closes the queue. Afterwards no item can be appended, but items that are in the queue can still be removed.
  // Coroutines that wait in push() or pop() fail with EPIPE.
  void close() {
    const detail::ReadyQueue::Hold hold;
    closed_ = true;
    while (Push* push = pushing_.pop_front()) push->complete(EPIPE);
    while (Pop* pop = popping_.pop_front()) pop->complete(EPIPE);
  }
  size_t size() const { return items_.size(); }
  bool closed() const { return closed_; }

 private:
  // Gives the item to the first coroutine that waits in pop(). If no coroutine waits there, appends the item to the
  // queue.
  void add(T item) {
    if (Pop* pop = popping_.pop_front()) {
      pop->item_.emplace(std::move(item));
      pop->complete(0);
    } else {
      items_.push_back(std::move(item));
    }
  }
  // Removes and returns the first item. If a coroutine waits in push(), appends that coroutine's item and ends its
  // wait.
  T take() {
    T item = std::move(items_.front());
    items_.pop_front();
    if (Push* push = pushing_.pop_front()) {
      items_.push_back(std::move(push->item_));
      push->complete(0);
    }
    return item;
  }

  const size_t limit_;
  std::deque<T> items_;
  detail::WaitList<Push> pushing_;
  detail::WaitList<Pop> popping_;
  bool closed_ = false;
};

// The awaitable that AsyncQueue::push() returns.
template <class T>
class [[nodiscard]] AsyncQueue<T>::Push final : public detail::QueuedWait<Push> {
 public:
  Push(AsyncQueue& queue, T item) : queue_(queue), item_(std::move(item)) {}
  bool await_ready() {
    if (queue_.closed_) this->why_ = EPIPE;
    return queue_.closed_ || queue_.try_push(item_);
  }
  Result<void> await_resume() const { return detail::answer_of(this->why_); }
  detail::Wait& selectable() { return *this; }

 private:
  friend class AsyncQueue;
  friend class detail::QueuedWait<Push>;
  friend class detail::WaitList<Push>;
  detail::WaitList<Push>& line() { return queue_.pushing_; }

  AsyncQueue& queue_;
  T item_;
};

// The awaitable that AsyncQueue::pop() returns.
template <class T>
class [[nodiscard]] AsyncQueue<T>::Pop final : public detail::QueuedWait<Pop> {
 public:
  explicit Pop(AsyncQueue& queue) : queue_(queue) {}
  bool await_ready() {
    item_ = queue_.try_pop();
    if (!item_ && queue_.closed_) this->why_ = EPIPE;
    return item_ || queue_.closed_;
  }
  Result<T> await_resume() {
    if (this->why_ != 0) return detail::failed(this->why_);
    return std::move(*item_);
  }
  detail::Wait& selectable() { return *this; }

 private:
  friend class AsyncQueue;
  friend class detail::QueuedWait<Pop>;
  friend class detail::WaitList<Pop>;
  detail::WaitList<Pop>& line() { return queue_.popping_; }

  AsyncQueue& queue_;
  std::optional<T> item_;
};

}  // namespace peal
