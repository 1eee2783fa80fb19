// SPDX-License-Identifier: BSD-3-Clause
// Mailbox: what other threads hold of a loop. Counted, so it may outlive the loop; a post to a loop that has stopped is
// refused and the closure dies on the caller. Handles keep one of these.
//
// A post wakes the engine only if the loop sleeps and nobody has woken it for this yet. That takes two flags, each
// written before the other is read: the loop says "I sleep" and looks whether something is pending, a poster says
// "something is pending" and looks whether the loop sleeps. Sequential consistency makes one of the two see the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <peal/base/assert.h>
#include <peal/base/callback.h>
#include <peal/engine/engine.h>
#include <peal/observe/watched_thread.h>

namespace peal {

class Loop;

class Mailbox final : public WatchedQueue {
 public:
  using Callback = peal::Callback<void()>;

  // Made by the loop; `limit` > 0.
  Mailbox(Loop* loop, std::shared_ptr<Waker> waker, size_t limit)
      : loop_(loop), waker_(std::move(waker)), limit_(limit) {
    PEAL_ASSERT(limit_ > 0, "a mailbox that takes {} tasks", limit_);
  }

  // Any thread. Tasks of one thread run in the order they were posted. False when `limit` tasks wait already or the
  // loop has stopped: the task was not taken and dies with the caller's argument. What was taken runs, on the loop's
  // thread, unless run() is never called or cannot open the engine.
  bool post(Callback task);
  // As post(), but no limit refuses it: for what must happen, such as the end of an object the loop refers to.
  bool insist(Callback task) override;
  // The loop, when the calling thread is the one that runs it now; otherwise null.
  Loop* here() const { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id() ? loop_ : nullptr; }
  // The loop, when the calling thread may touch it: it is inside its run(), or nobody has run it yet. Otherwise null.
  // To the step of one stepped loop, every other one is another thread's.
  Loop* reachable() const {
    std::thread::id owner = owner_.load(std::memory_order_acquire);
    bool mine = owner == std::this_thread::get_id() || (owner == std::thread::id() && open() && !beside_a_step());
    return mine ? loop_ : nullptr;
  }
  // This loop is driven by steps, and the calling thread is inside a step of another: it waits for this one in vain.
  bool beside_a_step() const {
    return stepped_.load(std::memory_order_relaxed) && stepping != nullptr && stepping != this;
  }
  // While one lives, the calling thread may touch all its stepped loops: for what belongs to a thread, not to a loop.
  class AllOfThread {
   public:
    AllOfThread() : outer_(std::exchange(stepping, nullptr)) {}
    ~AllOfThread() { stepping = outer_; }
    AllOfThread(const AllOfThread&) = delete;
    AllOfThread& operator=(const AllOfThread&) = delete;

   private:
    const Mailbox* const outer_;
  };
  // False once the loop has begun to end; it may do so right after the answer.
  bool open() const override { return !closed_.load(std::memory_order_acquire); }
  // Tasks that wait now. Any thread.
  size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }
  // Waits until no thread is inside run(). Not on the loop's thread; meant for when insist() has been refused.
  void wait_until_left() const;

 private:
  friend class Loop;

  bool enqueue(Callback task, size_t limit);
  bool pending() const { return pending_.load(std::memory_order_acquire); }
  // Sets pending_ and wakes a sleeping loop. Any thread.
  void mark_pending_and_wake();
  // The loop is about to sleep. False: it must not, something is pending.
  bool begin_sleep() {
    sleeping_.store(true, std::memory_order_seq_cst);
    return !pending_.load(std::memory_order_seq_cst);
  }
  void end_sleep() { sleeping_.store(false, std::memory_order_relaxed); }
  // Swaps the waiting tasks into `tasks`, which is empty.
  void swap_tasks(std::vector<Callback>& tasks);
  // Refuses all posts from now on; returns the tasks taken before.
  std::vector<Callback> close();

  static constinit thread_local const Mailbox* stepping;  // of the loop whose step() the calling thread is inside

  Loop* const loop_;
  const std::shared_ptr<Waker> waker_;
  const size_t limit_;
  std::atomic<std::thread::id> owner_{};  // the thread inside run(); none: whoever has the loop may touch it
  std::atomic<bool> pending_ = false;
  std::atomic<bool> sleeping_ = false;
  std::atomic<bool> closed_ = false;   // changes under the mutex
  std::atomic<bool> stepped_ = false;  // since Loop::begin()
  mutable std::mutex mutex_;
  std::vector<Callback> tasks_;  // guarded by the mutex
};

}  // namespace peal
