// SPDX-License-Identifier: BSD-3-Clause
// when_all() and when_any(): run several tasks at once, on the loop of the coroutine that awaits them.
//
//   auto [name, port] = co_await peal::when_all(read_name(), read_port());
//   auto first = co_await peal::when_any(ask(primary), ask(secondary));   // first.index, first.value
//
// Both return only after all of the tasks have ended.
// - when_all(): the first exception of a task cancels the other tasks, and is thrown again at the await.
// - when_any(): the first task that ends, even by an exception, cancels the others. Its result is the result of the
//   await; results and exceptions of the others are dropped.
// - Cancelling the awaiting coroutine cancels all of the tasks.
//
// Both also take a std::vector of tasks of one type. when_all() then returns a vector of results in the order of the
// tasks; it is empty for an empty vector. when_any() of an empty vector throws std::invalid_argument. All tasks begin
// at once; an AsyncSemaphore limits how many do something at the same time. A deadline can be given to a single task:
// `co_await work().within(5s)`.
#pragma once

#include <array>
#include <cerrno>
#include <concepts>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include <peal/coro/task.h>

namespace peal {

// The type of a task's result in when_all() and when_any(): T, or std::monostate for a task that returns void.
template <class T>
using WhenValue = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// The result of when_any(): which task has ended first, and the result of that task.
template <class T>
struct WhenAny {
  size_t index;  // the position of the task that ended first
  WhenValue<T> value;
};

namespace detail {

// Returns the result of a task that has ended, or throws its exception.
template <class T>
WhenValue<T> when_value(Task<T>& task) {
  if constexpr (std::is_void_v<T>) {
    task.coroutine().promise().take();
    return {};
  } else {
    return task.coroutine().promise().take();
  }
}

// The type of a container with one Branch for each task: a std::vector if `Tasks` is a std::vector, otherwise a
// std::array.
template <class Tasks, class Branch>
struct BranchesOf : std::type_identity<std::array<Branch, std::tuple_size_v<Tasks>>> {};
template <class T, class Branch>
struct BranchesOf<std::vector<Task<T>>, Branch> : std::type_identity<std::vector<Branch>> {};

// Runs the tasks of a tuple, an array or a vector, and waits until all of them have ended. Each task has its own
// chain of awaits (Strand), so each can be cancelled alone.
template <class Tasks>
class Group : public Wait {
 public:
  bool await_ready() const noexcept { return left_ == 0; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    Branch* branch = branches_.data();
    auto prepare = [&](auto& task) { branch++->prepare(awaiting.promise().strand()->loop(), *this, task.coroutine()); };
    if constexpr (kIsTuple) {
      std::apply([&](auto&... tasks) { (prepare(tasks), ...); }, tasks_);
    } else {
      for (auto& task : tasks_) prepare(task);
    }
    begin_joining(awaiting);
    for (auto& each : branches_) ReadyQueue::run(each);
  }
  void cancel(Why why) noexcept override {
    const ReadyQueue::Hold hold;
    for (auto& branch : branches_) branch.cancel(why);
  }

 protected:
  // The chain of awaits (Strand) of one task of the group.
  class Branch final : public Strand, public Runnable {
   public:
    Branch() : Strand(nullptr) {}
    template <class Promise>
    void prepare(Loop& loop, Group& group, std::coroutine_handle<Promise> task) {
      loop_ = &loop;
      group_ = &group;
      promise_ = &task.promise();
      task_ = task;
      promise_->belong(*this, nullptr);
    }
    void run() noexcept override { task_.resume(); }
    std::coroutine_handle<> on_done() noexcept override { return group_->ended(*this); }
    const std::exception_ptr& thrown() const { return promise_->thrown(); }

   private:
    Group* group_ = nullptr;
    PromiseBase* promise_ = nullptr;
    std::coroutine_handle<> task_;
  };

  using Branches = typename BranchesOf<Tasks, Branch>::type;
  static constexpr bool kIsTuple = requires { std::tuple_size<Tasks>::value; };
  explicit Group(auto&&... tasks) : tasks_{std::move(tasks)...} {
    if constexpr (!kIsTuple) branches_ = Branches(tasks_.size());
    left_ = branches_.size();
  }
  ~Group() = default;
  // Called when a task has ended. Returns true if the end of this task must cancel the other tasks. `first` is true if
  // no other task has ended before. `threw` is true if an exception has left the task.
  virtual bool ends_others(bool first, bool threw) const = 0;

  static constexpr size_t kNobody = SIZE_MAX;
  Tasks tasks_;
  size_t decisive_ = kNobody;  // the position of the task whose end cancelled the others

 private:
  // Called when a task has ended. Cancels the other tasks if ends_others() returns true. Returns the coroutine to
  // resume next: the awaiting coroutine if all tasks have ended, otherwise a coroutine that does nothing.
  std::coroutine_handle<> ended(Branch& branch) {
    if (decisive_ == kNobody && ends_others(left_ == branches_.size(), branch.thrown() != nullptr)) {
      decisive_ = static_cast<size_t>(&branch - branches_.data());
      cancel(ECANCELED);
    }
    return --left_ == 0 ? end() : std::noop_coroutine();
  }

  Branches branches_;
  size_t left_;
};

template <class... Ts>
class WhenAllOf final : public Group<std::tuple<Task<Ts>...>> {
 public:
  explicit WhenAllOf(Task<Ts>... tasks) : WhenAllOf::Group(std::move(tasks)...) {}
  std::tuple<WhenValue<Ts>...> await_resume() {
    auto rethrow_if_decisive = [this, i = size_t{0}](auto& task) mutable {
      if (i++ == this->decisive_) static_cast<void>(when_value(task));
    };
    // If the exception of one task has cancelled the other tasks, that exception is thrown. The cancelled tasks may
    // have thrown exceptions, too, but these exceptions must not be thrown instead.
    std::apply([&](auto&... tasks) { (rethrow_if_decisive(tasks), ...); }, this->tasks_);
    return std::apply([](auto&... tasks) { return std::tuple<WhenValue<Ts>...>{when_value(tasks)...}; }, this->tasks_);
  }

 private:
  bool ends_others(bool, bool threw) const override { return threw; }
};

template <class T>
class WhenAllIn final : public Group<std::vector<Task<T>>> {
 public:
  explicit WhenAllIn(std::vector<Task<T>> tasks) : WhenAllIn::Group(std::move(tasks)) {}
  std::vector<WhenValue<T>> await_resume() {
    if (this->decisive_ != this->kNobody) static_cast<void>(when_value(this->tasks_[this->decisive_]));
    std::vector<WhenValue<T>> values;
    values.reserve(this->tasks_.size());
    for (auto& task : this->tasks_) values.push_back(when_value(task));
    return values;
  }

 private:
  bool ends_others(bool, bool threw) const override { return threw; }
};

template <class T, size_t kCount>
class WhenAnyOf final : public Group<std::array<Task<T>, kCount>> {
 public:
  explicit WhenAnyOf(auto... tasks) : WhenAnyOf::Group(std::move(tasks)...) {}
  WhenAny<T> await_resume() { return {this->decisive_, when_value(this->tasks_[this->decisive_])}; }

 private:
  bool ends_others(bool, bool) const override { return true; }
};

template <class T>
class WhenAnyIn final : public Group<std::vector<Task<T>>> {
 public:
  explicit WhenAnyIn(std::vector<Task<T>> tasks) : WhenAnyIn::Group(std::move(tasks)) {}
  WhenAny<T> await_resume() {
    if (this->tasks_.empty()) throw std::invalid_argument("when_any() was given an empty vector of tasks");
    return {this->decisive_, when_value(this->tasks_[this->decisive_])};
  }

 private:
  bool ends_others(bool, bool) const override { return true; }
};

}  // namespace detail

// Returns an awaitable that runs the tasks and returns a std::tuple of their results.
template <class... Ts>
[[nodiscard]] detail::WhenAllOf<Ts...> when_all(Task<Ts>... tasks) {
  return detail::WhenAllOf<Ts...>(std::move(tasks)...);
}

// Returns an awaitable that runs the tasks and returns a std::vector of their results.
template <class T>
[[nodiscard]] detail::WhenAllIn<T> when_all(std::vector<Task<T>> tasks) {
  return detail::WhenAllIn<T>(std::move(tasks));
}

// Returns an awaitable that runs the tasks and returns a WhenAny<T>. The WhenAny<T> holds the result of the task that
// ends first.
template <class T, std::same_as<Task<T>>... Others>
[[nodiscard]] detail::WhenAnyOf<T, 1 + sizeof...(Others)> when_any(Task<T> first, Others... others) {
  return detail::WhenAnyOf<T, 1 + sizeof...(Others)>(std::move(first), std::move(others)...);
}
// Returns an awaitable that runs the tasks of the vector and returns a WhenAny<T> with the result of the task
// that ends first. If `tasks` is empty, the await throws std::invalid_argument.
template <class T>
[[nodiscard]] detail::WhenAnyIn<T> when_any(std::vector<Task<T>> tasks) {
  return detail::WhenAnyIn<T>(std::move(tasks));
}

}  // namespace peal
