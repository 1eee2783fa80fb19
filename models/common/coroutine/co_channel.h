// SPDX-License-Identifier: BSD-3-Clause
// CoChannel: a bounded queue between the coroutines of one loop. A sender waits while the queue is full. A taker waits
// while the queue is empty. Values are taken in the order in which they were sent.
//
//   channel.send(self, std::move(value));   value = channel.take(self);        stackful: on its own stack
//   co_await channel.send(value);           value = co_await channel.take();   stackless
//
// After close(), or when the loop is stopping, send() discards its value. take() still returns the values that are in
// the queue, and nullopt when the queue is empty. Use a CoChannel on one thread only. The loop must outlive the
// channel.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include <models/common/coroutine/co_condition.h>
#include <models/common/coroutine/co_task.h>

namespace peal::models {

template <class T>
class CoChannel {
 public:
  CoChannel(CoroutineLoop& loop, size_t bound) : loop_(loop), bound_(bound), filled_(loop), room_(loop) {}

  // True if at least one coroutine is suspended in take(), because the channel is empty.
  bool taker_waits() const { return filled_.anybody_waits(); }
  void close() {
    closed_ = true;
    filled_.notify_all();
    room_.notify_all();
  }

  void send(Fiber& self, T value) {
    while (full()) room_.wait(self);
    put(std::move(value));
  }
  std::optional<T> take(Fiber& self) {
    while (empty()) filled_.wait(self);
    return next();
  }

  CoTask<void> send(T& value) {
    while (full()) co_await room_.wait();
    put(std::move(value));
  }
  CoTask<std::optional<T>> take() {
    while (empty()) co_await filled_.wait();
    co_return next();
  }

 private:
  bool over() const { return closed_ || loop_.stopping(); }
  bool full() const { return values_.size() >= bound_ && !over(); }
  bool empty() const { return values_.empty() && !over(); }
  void put(T value) {
    if (over()) return;
    values_.push_back(std::move(value));
    filled_.notify_one();
  }
  std::optional<T> next() {
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    room_.notify_one();
    return value;
  }

  CoroutineLoop& loop_;
  const size_t bound_;
  std::deque<T> values_;
  CoCondition filled_;
  CoCondition room_;
  bool closed_ = false;
};

}  // namespace peal::models
