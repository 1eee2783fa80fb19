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

// Gives each of `kCount` tasks a strand of its own, and waits for them.
template <size_t kCount>
class Group : public Wait {
 public:
  void cancel(Why why) noexcept override {
    const ReadyQueue::Hold hold;
    for (auto& branch : branches_) branch.cancel(why);
  }

 protected:
  class Branch final : public Strand, public Runnable {
   public:
    Branch() : Strand(nullptr) {}
    void prepare(Loop& loop, Group& group, PromiseBase& promise, std::coroutine_handle<> task) {
      loop_ = &loop;
      group_ = &group;
      promise_ = &promise;
      task_ = task;
      promise.belong(*this, nullptr);
    }
    void run() noexcept override { task_.resume(); }
    std::coroutine_handle<> on_done() noexcept override { return group_->ended(*this); }
    const std::exception_ptr& thrown() const { return promise_->thrown(); }

   private:
    Group* group_ = nullptr;
    PromiseBase* promise_ = nullptr;
    std::coroutine_handle<> task_;
  };

  ~Group() = default;
  template <class Promise, class... Tasks>
  void start(std::coroutine_handle<Promise> awaiting, Tasks&... tasks) {
    Loop& loop = awaiting.promise().strand()->loop();
    size_t i = 0;
    (branches_[i++].prepare(loop, *this, tasks.coroutine().promise(), tasks.coroutine()), ...);
    begin_joining(awaiting);
    for (auto& branch : branches_) ReadyQueue::run(branch);
  }
  // What the end of the first task, or of the first that throws, means for the others.
  virtual bool ends_others(bool first, bool threw) const = 0;

  static constexpr size_t kNobody = kCount;
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
class WhenAllOf final : public Group<sizeof...(Ts)> {
 public:
  explicit WhenAllOf(Task<Ts>... tasks) : tasks_(std::move(tasks)...) {}
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    std::apply([&](auto&... tasks) { this->start(awaiting, tasks...); }, tasks_);
  }
  std::tuple<WhenValue<Ts>...> await_resume() {
    size_t i = 0;
    // The decisive one's exception before what cancelling made of the others.
    std::apply([&](auto&... tasks) { ((i++ == this->decisive_ ? (void)when_value(tasks) : void()), ...); }, tasks_);
    return std::apply([](auto&... tasks) { return std::tuple<WhenValue<Ts>...>{when_value(tasks)...}; }, tasks_);
  }

 private:
  bool ends_others(bool, bool threw) const override { return threw; }

  std::tuple<Task<Ts>...> tasks_;
};

template <class T, size_t kCount>
class WhenAnyOf final : public Group<kCount> {
 public:
  template <class... Tasks>
  explicit WhenAnyOf(Tasks... tasks) : tasks_{std::move(tasks)...} {}
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    std::apply([&](auto&... tasks) { this->start(awaiting, tasks...); }, tasks_);
  }
  WhenAny<T> await_resume() { return {this->decisive_, when_value(tasks_[this->decisive_])}; }

 private:
  bool ends_others(bool, bool) const override { return true; }

  std::array<Task<T>, kCount> tasks_;
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
