// SPDX-License-Identifier: BSD-3-Clause
// Several tasks at once, on the loop of the task that awaits them.
//
//   auto [name, port] = co_await peal::when_all(read_name(), read_port());
//   auto first = co_await peal::when_any(ask(primary), ask(secondary));   // first.index, first.value
//
// Both go on only when all of them have ended. when_all: the first exception cancels the others and is thrown again.
// when_any: the first to end, by an exception too, cancels the others, and its answer is the answer; whatever the
// others answer or throw is dropped. Cancelling whoever awaits cancels all of them.
#pragma once

#include <array>
#include <cerrno>
#include <concepts>
#include <tuple>
#include <type_traits>
#include <variant>

#include <peal/coro/task.h>

namespace peal {

// void answers as std::monostate.
template <class T>
using WhenValue = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
struct WhenAny {
  size_t index;  // of the task that was first
  WhenValue<T> value;
};

namespace detail {

template <class T>
WhenValue<T> when_value(Task<T>& task) {
  if constexpr (std::is_void_v<T>) {
    task.coroutine().promise().take();
    return {};
  } else {
    return task.coroutine().promise().take();
  }
}

// Gives each of the tasks, a tuple or array of them, a strand of its own, and waits for them.
template <class Tasks>
class Group : public Wait {
 public:
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    Branch* branch = branches_.data();
    auto prepare = [&](auto task) { branch++->prepare(awaiting.promise().strand()->loop(), *this, task); };
    std::apply([&](auto&... tasks) { (prepare(tasks.coroutine()), ...); }, tasks_);
    begin_joining(awaiting);
    for (auto& each : branches_) ReadyQueue::run(each);
  }
  void cancel(Why why) noexcept override {
    const ReadyQueue::Hold hold;
    for (auto& branch : branches_) branch.cancel(why);
  }

 protected:
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

  explicit Group(auto&&... tasks) : tasks_{std::move(tasks)...} {}
  ~Group() = default;
  // What the end of the first task, or of the first that throws, means for the others.
  virtual bool ends_others(bool first, bool threw) const = 0;

  static constexpr size_t kCount = std::tuple_size_v<Tasks>;
  static constexpr size_t kNobody = kCount;
  Tasks tasks_;
  size_t decisive_ = kNobody;  // the one that ended the others

 private:
  std::coroutine_handle<> ended(Branch& branch) {
    if (decisive_ == kNobody && ends_others(left_ == kCount, branch.thrown() != nullptr)) {
      decisive_ = static_cast<size_t>(&branch - branches_.data());
      cancel(ECANCELED);
    }
    return --left_ == 0 ? end() : std::noop_coroutine();
  }

  std::array<Branch, kCount> branches_;
  size_t left_ = kCount;
};

template <class... Ts>
class WhenAllOf final : public Group<std::tuple<Task<Ts>...>> {
 public:
  explicit WhenAllOf(Task<Ts>... tasks) : WhenAllOf::Group(std::move(tasks)...) {}
  std::tuple<WhenValue<Ts>...> await_resume() {
    size_t i = 0;
    // The decisive one's exception before what cancelling made of the others.
    std::apply([&](auto&... tasks) { ((i++ == this->decisive_ ? (void)when_value(tasks) : void()), ...); },
               this->tasks_);
    return std::apply([](auto&... tasks) { return std::tuple<WhenValue<Ts>...>{when_value(tasks)...}; }, this->tasks_);
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

}  // namespace detail

// Answers a std::tuple of what the tasks answer.
template <class... Ts>
[[nodiscard]] detail::WhenAllOf<Ts...> when_all(Task<Ts>... tasks) {
  return detail::WhenAllOf<Ts...>(std::move(tasks)...);
}

template <class T, std::same_as<Task<T>>... Others>
[[nodiscard]] detail::WhenAnyOf<T, 1 + sizeof...(Others)> when_any(Task<T> first, Others... others) {
  return detail::WhenAnyOf<T, 1 + sizeof...(Others)>(std::move(first), std::move(others)...);
}

}  // namespace peal
