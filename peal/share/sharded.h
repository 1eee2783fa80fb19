// SPDX-License-Identifier: BSD-3-Clause
// Sharded<T>: one T on each loop of a group, each held by an OnLoop. For example, a store that all loops share without
// a lock.
//
//   peal::Sharded<Store> stores(group);            // Store(loop) on each loop's thread
//   auto text = co_await stores.ask(key, [&](Store& store) { return store.get(key); });   // where the key lives
//   auto sizes = co_await stores.ask_all([](const Store& store) { return store.size(); });
//
// A key belongs to the loop that is found by its std::hash. The hash is mixed (murmur's finisher), so that keys that
// count up are spread as evenly as random ones. Strings of any type with equal characters have equal hashes. A key
// belongs to the same loop as long as the group has the same number of loops. The hash is not secret: a client that may
// choose keys can choose them all for one loop, and so overload that loop.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <peal/base/assert.h>
#include <peal/coro/when.h>
#include <peal/loop/loop_group.h>
#include <peal/share/loop_object.h>

namespace peal {

namespace detail {

// Returns the index, below `count`, of the object that `key` belongs to.
template <class Key>
size_t shard_of(const Key& key, size_t count) {
  uint64_t hash = 0;
  if constexpr (std::convertible_to<const Key&, std::string_view>) {
    hash = std::hash<std::string_view>{}(key);
  } else {
    hash = std::hash<Key>{}(key);
  }
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return (hash ^ hash >> 33) % count;
}

}  // namespace detail

// Any thread may use a Sharded, and several threads may use it at the same time. The owner may destroy the Sharded on
// any thread. Each T is then destroyed on its own loop, as with OnLoop. The group must outlive the Sharded.
template <class T>
class Sharded {
 public:
  // Makes the T of each loop by calling `make(Loop&, size_t index)` on that loop's thread. Each loop has and calls its
  // own copy of `make`.
  template <class Make>
  Sharded(LoopGroup& group, const Make& make) {
    for (size_t i = 0; i < group.size(); ++i) {
      shards_.emplace_back(group[i], [make, i](Loop& loop) mutable { return make(loop, i); });
    }
  }
  // Makes each T as T(loop), or as T() if T has no such constructor.
  explicit Sharded(LoopGroup& group) {
    for (size_t i = 0; i < group.size(); ++i) shards_.emplace_back(group[i]);
  }
  Sharded(const Sharded&) = delete;
  Sharded& operator=(const Sharded&) = delete;

  // Returns the number of objects. There is one object for each loop of the group.
  size_t size() const { return shards_.size(); }
  // Returns the handle of the object on the group's loop with this index.
  const OnLoop<T>& operator[](size_t index) const {
    PEAL_ASSERT(index < shards_.size(), "shard {} of {}", index, shards_.size());
    return shards_[index];
  }
  // Returns the index of the loop that `key` belongs to.
  template <class Key>
  size_t index_of(const Key& key) const {
    return detail::shard_of(key, shards_.size());
  }
  // Returns the handle of the object that `key` belongs to.
  template <class Key>
  const OnLoop<T>& of(const Key& key) const {
    return shards_[index_of(key)];
  }
  // Returns the object of the loop that the calling thread runs. Returns null if the thread runs no loop of the group.
  T* here() const {
    for (const OnLoop<T>& shard : shards_) {
      if (T* object = shard.here()) return object;
    }
    return nullptr;
  }

  // tell() and both ask() functions find the T that `key` belongs to, and call the OnLoop function of the same name for
  // that T.
  template <class Key>
  bool tell(const Key& key, Callback<void(T&)> function) const {
    return of(key).tell(std::move(function));
  }
  template <class Key, class Function>
  auto ask(const Key& key, Function&& function) const {
    return of(key).ask(std::forward<Function>(function));
  }
  template <class Key, class Function, class Then>
  bool ask(const Key& key, Loop& home, Function function, Then then) const {
    return of(key).ask(home, std::move(function), std::move(then));
  }

  // Calls `function` with each T on the T's own loop. The loops do this in parallel. Returns for how many loops
  // OnLoop::tell() has returned true.
  size_t tell_all(SharedCallback<void(T&)> function) const {
    const auto shared = std::make_shared<const SharedCallback<void(T&)>>(std::move(function));
    size_t taken = 0;
    for (const OnLoop<T>& shard : shards_) taken += shard.tell([shared](T& object) { (*shared)(object); }) ? 1 : 0;
    return taken;
  }
  // Calls `function` with each T on the T's own loop. The loops do this in parallel. Returns a Task of a vector that
  // has one result for each loop, in the order of the loops. Each result is that of OnLoop::ask(). The first exception
  // of a call cancels the other calls and is thrown again. `function` is borrowed until the await ends.
  template <class Function>
  auto ask_all(Function&& function) const {
    using Shared = const std::remove_reference_t<Function>;
    static_assert(detail::kMayStandInAwait<Function>,
                  "a function that owns something must be a variable declared before the co_await: g++ 12 destroys a "
                  "temporary one twice");
    if constexpr (detail::may_ask<T, Shared>()) return gather<Shared>(shards_, function);
  }

 private:
  // ask_one() asks one object. gather() runs ask_one() for all objects and waits for the results; ask_all() returns the
  // task of gather().
  template <class Function>
  static Task<detail::AskAnswer<T, Function>> ask_one(const OnLoop<T>& shard, Function& function) {
    co_return co_await shard.ask(function);
  }
  template <class Function>
  static Task<std::vector<detail::AskAnswer<T, Function>>> gather(std::vector<OnLoop<T>> shards, Function& function) {
    std::vector<Task<detail::AskAnswer<T, Function>>> asking;
    asking.reserve(shards.size());
    for (const OnLoop<T>& shard : shards) asking.push_back(ask_one(shard, function));
    co_return co_await when_all(std::move(asking));
  }

  std::vector<OnLoop<T>> shards_;
};

}  // namespace peal
