// SPDX-License-Identifier: BSD-3-Clause
// While the mutex is held, tasks are only moved, never called or destroyed. A closure's destructor may post a task,
// which would lock the mutex a second time.
#include <peal/loop/mailbox.h>

#include <cstdint>
#include <utility>

namespace peal {

constinit thread_local const Mailbox* Mailbox::stepping = nullptr;

bool Mailbox::post(Callback task) { return enqueue(std::move(task), limit_); }
bool Mailbox::insist(Callback task) { return enqueue(std::move(task), SIZE_MAX); }

bool Mailbox::enqueue(Callback task, size_t limit) {
  PEAL_ASSERT(task, "an empty task posted; the limit is {}", limit_);
  {
    const std::lock_guard lock(mutex_);
    if (closed_.load(std::memory_order_relaxed) || tasks_.size() >= limit) return false;
    tasks_.push_back(std::move(task));
  }
  mark_pending_and_wake();
  return true;
}

void Mailbox::mark_pending_and_wake() {
  if (pending_.exchange(true, std::memory_order_seq_cst)) return;
  // A post from the loop's own thread needs no wake-up, although sleeping_ is still true while the engine calls
  // callbacks inside its wait.
  if (sleeping_.load(std::memory_order_seq_cst) && here() == nullptr) waker_->wake();
}

void Mailbox::wait_until_left() const {
  const std::thread::id none;
  for (std::thread::id owner = owner_.load(); owner != none; owner = owner_.load()) owner_.wait(owner);
}

void Mailbox::swap_tasks(std::vector<Callback>& tasks) {
  PEAL_ASSERT(tasks.empty(), "swap_tasks() needs an empty vector; this one has {} tasks", tasks.size());
  // pending_ is cleared before the tasks are taken. A task that is posted between these two steps is taken now. The
  // pending_ that it sets makes the loop check an empty queue once.
  pending_.exchange(false, std::memory_order_seq_cst);
  const std::lock_guard lock(mutex_);
  tasks_.swap(tasks);
}

std::vector<Mailbox::Callback> Mailbox::close() {
  const std::lock_guard lock(mutex_);
  closed_.store(true, std::memory_order_release);
  return std::exchange(tasks_, {});
}

}  // namespace peal
