// SPDX-License-Identifier: BSD-3-Clause
// Mailbox: the queue of tasks through which other threads reach a loop. Handles to objects of a loop hold a shared_ptr
// to its mailbox, so the mailbox may outlive the loop. As soon as the loop begins to end, the mailbox refuses
// every post and destroys the task on the calling thread.
//
// A post makes a system call to wake the engine only if the loop sleeps and no other post has woken it. Two flags
// decide this:
//   - the loop sets sleeping_, then reads pending_;
//   - a poster sets pending_, then reads sleeping_.
// All four accesses are sequentially consistent, so at least one side sees the other's flag and no wake-up is lost.
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

  // Makes the mailbox of `loop`. Only the Loop's constructor calls this. While `limit` tasks wait, post() refuses
  // further tasks. `limit` must be > 0.
  Mailbox(Loop* loop, std::shared_ptr<Waker> waker, size_t limit)
      : loop_(loop), waker_(std::move(waker)), limit_(limit) {
    PEAL_ASSERT(limit_ > 0, "a mailbox needs a limit above 0, not {}", limit_);
  }

  // Queues `task` for the loop's thread. Any thread. Tasks that one thread posts run in the order of the calls. Returns
  // false and destroys the task if `limit` tasks are waiting or the loop has begun to end. An accepted task is called
  // at the latest when the loop ends. It is destroyed without a call only if the engine cannot be opened, or if the
  // loop is destroyed before it has ended.
  bool post(Callback task);
  // Queues `task` as post() does, but regardless of the limit. Returns false and destroys the task only if the loop has
  // begun to end. Meant for tasks that must not be lost, such as the destruction of an object that the loop refers to.
  bool insist(Callback task) override;
  // Returns the loop if the calling thread is inside its run() or step(), otherwise null. Any thread.
  Loop* here() const { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id() ? loop_ : nullptr; }
  // Returns the loop if the calling thread may touch the loop, otherwise null. A thread may touch the loop inside its
  // run() or step(), and while the loop has not begun to end and no thread is inside them. Returns null also for a
  // stepped loop if the calling thread is inside a step of another loop.
  Loop* reachable() const {
    std::thread::id owner = owner_.load(std::memory_order_acquire);
    bool mine = owner == std::this_thread::get_id() || (owner == std::thread::id() && open() && !beside_a_step());
    return mine ? loop_ : nullptr;
  }
  // True if this loop is driven with step() and the calling thread is inside a step of another loop. The thread must
  // not wait for this loop then, because this loop cannot take a step until the wait ends.
  bool beside_a_step() const {
    return stepped_.load(std::memory_order_relaxed) && stepping != nullptr && stepping != this;
  }
  // While an AllOfThread exists, the calling thread may touch all its stepped loops even inside a step of one of them.
  // Meant for state that belongs to the thread and not to one loop.
  class AllOfThread {
   public:
    AllOfThread() : outer_(std::exchange(stepping, nullptr)) {}
    ~AllOfThread() { stepping = outer_; }
    AllOfThread(const AllOfThread&) = delete;
    AllOfThread& operator=(const AllOfThread&) = delete;

   private:
    const Mailbox* const outer_;
  };
  // True until the loop begins to end. On another thread than the loop's, the result may be outdated when the caller
  // gets it. Any thread.
  bool open() const override { return !closed_.load(std::memory_order_acquire); }
  // Returns how many tasks are waiting. Any thread.
  size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }
  // Blocks until no thread is inside run() or a step of the loop. Meant to be called after insist() has returned false.
  // Must not be called on the loop's thread.
  void wait_until_left() const;

 private:
  friend class Loop;

  bool enqueue(Callback task, size_t limit);
  bool pending() const { return pending_.load(std::memory_order_acquire); }
  // Sets pending_ and wakes the loop if it sleeps. Any thread.
  void mark_pending_and_wake();
  // Announces that the loop is about to sleep. Returns false if the loop must not sleep, because a task is pending.
  bool begin_sleep() {
    sleeping_.store(true, std::memory_order_seq_cst);
    return !pending_.load(std::memory_order_seq_cst);
  }
  void end_sleep() { sleeping_.store(false, std::memory_order_relaxed); }
  // Moves all waiting tasks into `tasks`, which must be empty.
  void swap_tasks(std::vector<Callback>& tasks);
  // Refuses all later posts, and returns the tasks that were accepted and have not run.
  std::vector<Callback> close();

  // The mailbox of the loop whose step() the calling thread is inside; null outside of steps.
  static constinit thread_local const Mailbox* stepping;

  Loop* const loop_;
  const std::shared_ptr<Waker> waker_;
  const size_t limit_;
  std::atomic<std::thread::id> owner_{};  // the thread inside run() or step(); a default id if there is none
  std::atomic<bool> pending_ = false;     // true if tasks may be waiting
  std::atomic<bool> sleeping_ = false;    // true if the loop is in a wait of the engine, or about to enter it
  std::atomic<bool> closed_ = false;      // set only while mutex_ is held
  std::atomic<bool> stepped_ = false;     // true after Loop::begin()
  mutable std::mutex mutex_;
  std::vector<Callback> tasks_;  // guarded by mutex_
};

}  // namespace peal
