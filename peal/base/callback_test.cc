// SPDX-License-Identifier: BSD-3-Clause
// Tests which functions a callback accepts and which it refuses. Most checks are static_asserts.
#include <peal/base/callback.h>

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace peal {
namespace {

struct Coroutine {};  // stands for the return type of a coroutine

using Plain = Callback<void(int)>;
using Shared = SharedCallback<void(int)>;
using Copyable = CopyableCallback<void(int)>;

constexpr auto kTells = [](int) {};
constexpr auto kAnswers = [](int) { return 1; };
constexpr auto kBegins = [](int) { return Coroutine(); };
constexpr auto kCounts = [left = 3](int) mutable { left = std::max(left - 1, 0); };
using Answer = int (*)(int);
using Tell = void (*)(int);

template <class Slot, class What>
constexpr bool takes = Slot::template kAccepts<What> && std::is_constructible_v<Slot, What> &&
                       std::is_convertible_v<What, Slot> && std::is_assignable_v<Slot&, What>;
template <class Slot, class What>
constexpr bool refuses = !Slot::template kAccepts<What>;

static_assert(takes<Plain, decltype(kTells)> && takes<Shared, decltype(kTells)> && takes<Copyable, decltype(kTells)>);
static_assert(takes<Plain, Tell> && takes<Shared, Tell> && takes<Copyable, Tell>);
template <class Slot>
constexpr bool is_null_if_told_so = std::is_convertible_v<std::nullptr_t, Slot>;
static_assert(is_null_if_told_so<Plain> && is_null_if_told_so<Shared> && is_null_if_told_so<Copyable>);
// Arguments that cannot be meant as a callback are left to other overloads.
static_assert(!std::is_constructible_v<Plain, int> && !std::is_constructible_v<Shared, double>);
// A function with a result is refused, because the result would be lost.
static_assert(refuses<Plain, decltype(kAnswers)> && refuses<Shared, decltype(kAnswers)>);
static_assert(refuses<Plain, Answer> && refuses<Copyable, decltype(kAnswers)>);
static_assert(refuses<Plain, std::move_only_function<int(int)>> && refuses<Plain, std::function<int(int)>>);
// A coroutine is refused, because it would never run.
static_assert(refuses<Plain, decltype(kBegins)> && refuses<Shared, decltype(kBegins)>);
static_assert(refuses<Copyable, decltype(kBegins)>);
// A function that changes its own state may be called on one loop only.
using Counts = std::remove_const_t<decltype(kCounts)>;
static_assert(takes<Plain, Counts> && refuses<Shared, Counts> && takes<Copyable, Counts>);
static_assert(refuses<Shared, Plain> && takes<Plain, Shared>);
static_assert(refuses<Shared, std::move_only_function<void(int)>>);
static_assert(takes<Plain, std::move_only_function<void(int)>>);
// A function with other arguments is refused.
static_assert(refuses<Plain, void (*)(std::string)> && refuses<Shared, void (*)(std::string)>);
// A callback is as large as the standard type that it is made of.
static_assert(sizeof(Plain) == sizeof(std::move_only_function<void(int)>) && sizeof(Shared) == sizeof(Plain));
static_assert(sizeof(Copyable) == sizeof(std::function<void(int)>));
static_assert(std::is_nothrow_move_constructible_v<Plain> && !std::is_copy_constructible_v<Plain>);
static_assert(std::is_copy_constructible_v<Copyable>);

TEST(Callback, empty_is_null_and_stays_so_when_moved) {
  Plain plain;
  Shared shared = nullptr;
  EXPECT_FALSE(plain);
  EXPECT_EQ(shared, nullptr);
  plain = std::move(shared);
  EXPECT_EQ(plain, nullptr);
  const Plain of_nobody = static_cast<void (*)(int)>(nullptr);
  EXPECT_FALSE(of_nobody);
}

TEST(Callback, calls_what_it_was_given_wherever_it_moved) {
  int sum = 0;
  Shared shared = [&, one = std::make_unique<int>(1)](int number) { sum += number + *one; };
  const Shared& as_const = shared;
  as_const(1);
  Plain plain = std::move(shared);
  plain(2);
  plain = [&sum](int number) { sum -= number; };
  plain(5);
  EXPECT_EQ(sum, 0);
  Copyable copyable = [&sum](int number) { sum = number; };
  Copyable copy = copyable;
  copy(7);
  EXPECT_EQ(sum, 7);
}

TEST(Callback, what_is_moved_on_is_not_wrapped_again) {
  std::move_only_function<void(int)> function = kTells;
  // A std::function that wraps an empty callback is not empty itself.
  function = nullptr;
  const Plain plain = std::move(function);
  EXPECT_FALSE(plain);
}

TEST(Callback, state_of_its_own_is_kept) {
  int told = 0;
  Plain plain = [&told, count = 0](int) mutable { told = ++count; };
  plain(0);
  plain(0);
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace peal
