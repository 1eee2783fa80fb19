// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/scope.h>

#include <peal/base/log.h>

namespace peal {

using detail::ReadyQueue;
using detail::Why;

// A task of the scope, with its own chain of awaits (Strand). Scope::ended() deletes this object when the task has
// ended.
class Scope::Child final : public detail::Runnable, public detail::Strand {
 public:
  Child(Scope& scope, Task<> task) : Strand(scope.loop_), scope_(scope), task_(std::move(task)) {}

  // True if the task has begun to run.
  bool begun() const { return task_.coroutine().promise().strand() != nullptr; }
  // True while the post that begins the task waits in the loop's mailbox, because the loop did not run when the scope
  // spawned the task.
  bool waits_for_loop = false;
  // Returns the exception that left the task; null if there was none.
  const std::exception_ptr& thrown() const { return task_.coroutine().promise().thrown(); }
  // Called twice. The first call begins the task. The second call is made after the task has ended and no code runs in
  // its frame any more. The second call removes the child from the scope.
  void run() noexcept override {
    if (begun()) return scope_.ended(*this);
    task_.coroutine().promise().belong(*this, nullptr);
    task_.coroutine().resume();
  }
  std::coroutine_handle<> on_done() noexcept override {
    ReadyQueue::run(*this);
    return std::noop_coroutine();
  }

 private:
  friend class Scope;
  friend class detail::WaitList<Child>;
  Scope& scope_;
  Task<> task_;
  Child* next_ = nullptr;
  Child* prev_ = nullptr;
};

Scope::Scope(Loop& loop) : loop_(&loop), mailbox_(loop.mailbox()) {}

Scope::Scope(Loop& loop, std::stop_token stop) : Scope(loop) {
  stop_.emplace(std::move(stop), [mailbox = mailbox_, self = std::weak_ptr(self())] {
    mailbox->insist([self] {
      if (auto scope = self.lock()) (*scope)->cancel();
    });
  });
}

Scope::~Scope() {
  if (size_ > 0 && !mailbox_->open()) cancel(detail::why_of(Trouble::kLoopStopped));
  while (Child* child = children_.front()) {
    PEAL_ASSERT(child->waits_for_loop, "a scope is destroyed with {} children: join it first", size_);
    children_.remove(*child);
    --size_;
    delete child;
  }
  if (thrown_) PEAL_LOG_ERROR("an exception of a task is lost: its Scope was destroyed without join()");
}

const std::shared_ptr<Scope*>& Scope::self() {
  if (!self_) self_ = std::make_shared<Scope*>(this);
  return self_;
}

bool Scope::spawn(Task<> task) {
  loop_->assert_here();
  if (!mailbox_->open()) return false;
  auto* child = new Child(*this, std::move(task));
  children_.push_back(*child);
  ++size_;
  if (cancelled_ != 0) child->cancel(cancelled_);
  if (loop_->in_loop()) {
    ReadyQueue::run(*child);
  } else {
    child->waits_for_loop = true;
    mailbox_->insist([self = std::weak_ptr(self()), child] {
      if (self.expired()) return;
      child->waits_for_loop = false;
      ReadyQueue::run(*child);
    });
  }
  return true;
}

void Scope::cancel(Why why) {
  if (cancelled_ == 0) cancelled_ = why;
  const ReadyQueue::Hold hold;
  for (Child* child = children_.front(); child != nullptr; child = child->next_) child->cancel(why);
}

// Deletes the child, which destroys the frame of its task. That frame may own this scope, so this function must not use
// a member after `delete &child`. Only if a coroutine waits in join(), this scope still exists after `delete &child`,
// because join() needs it.
void Scope::ended(Child& child) {
  if (child.thrown()) keep_exception(child.thrown());
  children_.remove(child);
  --size_;
  const bool joined = joining_ != nullptr;
  delete &child;
  if (joined && size_ == 0 && joining_ != nullptr) {
    Join* join = std::exchange(joining_, nullptr);
    join->complete(join->reason_);
  }
}

void Scope::keep_exception(const std::exception_ptr& thrown) {
  if (thrown_) {
    PEAL_LOG_ERROR("an exception of a task is lost: another task of its Scope threw first");
    return;
  }
  thrown_ = thrown;
  cancel();
}

void Scope::Join::cancel(Why why) noexcept {
  reason_ = why;
  scope_.cancel(why);
}

Result<void> Scope::Join::await_resume() {
  if (scope_.thrown_) std::rethrow_exception(std::exchange(scope_.thrown_, nullptr));
  return detail::answer_of(why_);
}

}  // namespace peal
