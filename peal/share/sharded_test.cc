// SPDX-License-Identifier: BSD-3-Clause
// Tests of Sharded: which keys belong to which loop, the results of ask() and ask_all(), and many coroutines on all
// loops that ask at once.
#include <peal/share/sharded.h>

#include <atomic>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <tests/support/loop_thread.h>
#include <tests/support/net_rig.h>
#include <tests/support/sanitized.h>

namespace peal {
namespace {

using testing::ElementsAre;

struct Store {
  Store(Loop& its_loop, size_t its_index) : loop(its_loop), index(its_index) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  Loop& loop;
  const size_t index;
  std::map<std::string, int> numbers;
};

TEST(ShardOf, texts_of_every_type_have_one_loop) {
  const std::string text = "a key";
  const size_t shard = detail::shard_of(text, 7);
  EXPECT_EQ(detail::shard_of("a key", 7), shard);
  EXPECT_EQ(detail::shard_of(std::string_view(text), 7), shard);
  EXPECT_EQ(detail::shard_of(text.c_str(), 7), shard);
}

// The std::hash of a number is the number itself, so shard_of() must mix it.
TEST(ShardOf, numbers_spread_however_they_count) {
  for (const uint64_t stride : {1ULL, 4ULL, 1024ULL, 1ULL << 32, 1ULL << 56}) {
    std::vector<int> counts(4);
    for (uint64_t i = 0; i < 200; ++i) ++counts[detail::shard_of(i * stride, 4)];
    EXPECT_THAT(counts, testing::Each(testing::AllOf(testing::Ge(25), testing::Le(80)))) << stride;
  }
}

class ShardedTest : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    test::LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    group = LoopGroup::start(4, options()).value();
    make_stores();
  }
  void make_stores() {
    stores = std::make_unique<Sharded<Store>>(*group, [](Loop& loop, size_t i) { return Store(loop, i); });
  }
  // Runs the coroutine `body` on the group's loop `index` until it has ended.
  void run(size_t index, const std::function<Task<>()>& body) {
    std::promise<void> over;
    Loop& loop = (*group)[index];
    std::unique_ptr<Scope> scope;
    auto whole = [&]() -> Task<> {
      co_await body();
      over.set_value();
    };
    test::ask(loop, [&] {
      scope = std::make_unique<Scope>(loop);
      scope->spawn(whole());
    });
    over.get_future().wait();
    test::ask(loop, [&] { scope.reset(); });
  }

  std::unique_ptr<LoopGroup> group;
  std::unique_ptr<Sharded<Store>> stores;
};

TEST_P(ShardedTest, a_key_is_asked_where_it_lives) {
  run(2, [&]() -> Task<> {
    for (int i = 0; i < 100; ++i) {
      const std::string key = std::to_string(i);
      const size_t home = stores->index_of(key);
      stores->tell(key, [&key, i](Store& store) { store.numbers[key] = i; });
      const auto found = co_await stores->ask(key, [&](Store& store) {
        EXPECT_TRUE(store.loop.in_loop());
        EXPECT_EQ(store.index, home);
        EXPECT_EQ(stores->here(), &store);
        return store.numbers.at(key);
      });
      EXPECT_EQ(found, i);
      EXPECT_EQ(co_await (*stores)[home].ask([&](Store& store) { return store.numbers.at(key); }), i);
    }
    EXPECT_EQ(stores->here()->index, 2U);
  });
  EXPECT_EQ(stores->here(), nullptr);
}

TEST_P(ShardedTest, all_answer_in_the_order_of_the_loops) {
  run(1, [&]() -> Task<> {
    EXPECT_EQ(stores->tell_all([](Store& store) { store.numbers["told"] = static_cast<int>(store.index); }), 4U);
    std::vector<int> told;
    for (const Result<int>& each :
         co_await stores->ask_all([](const Store& store) { return store.numbers.at("told"); })) {
      told.push_back(each.value());
    }
    EXPECT_THAT(told, ElementsAre(0, 1, 2, 3));
    const std::string owns = "a text that is too long to lie in the string itself";
    auto named = [owns](Store& store) { store.numbers[owns] = 1; };
    for (const Result<void>& each : co_await stores->ask_all(named)) EXPECT_TRUE(each);
    auto throws = [](const Store& store) {
      if (store.index == 3) throw std::runtime_error("no");
    };
    EXPECT_THROW(co_await stores->ask_all(throws), std::runtime_error);
  });
}

TEST_P(ShardedTest, a_callback_is_answered_on_its_own_loop) {
  std::promise<int> answer;
  Loop& home = (*group)[0];
  const std::string key = "a key";
  home.post([&] {
    stores->tell(key, [&](Store& store) { store.numbers[key] = 6; });
    stores->ask(
        key, home, [&](Store& store) { return store.numbers.at(key); },
        [&](Result<int> found) {
          EXPECT_TRUE(home.in_loop());
          answer.set_value(found.value());
        });
  });
  EXPECT_EQ(answer.get_future().get(), 6);
}

TEST_P(ShardedTest, may_die_while_questions_are_on_their_way) {
  std::atomic<int> answered = 0;
  run(0, [&]() -> Task<> {
    auto one = [&]() -> Task<> {
      for (const Result<size_t>& each : co_await stores->ask_all([](const Store& store) { return store.index; })) {
        answered += each ? 1 : 0;
      }
    };
    Scope scope((*group)[0]);
    for (int i = 0; i < 10; ++i) scope.spawn(one());
    co_await sleep({});
    stores.reset();
    co_await scope.join();
  });
  EXPECT_EQ(answered, 40);
}

TEST_P(ShardedTest, is_destroyed_after_its_loops_have_ended) {
  group->stop();
  group->join();
  EXPECT_EQ(stores->tell_all([](Store&) { ADD_FAILURE(); }), 0U);
  stores.reset();
}

TEST_P(ShardedTest, every_loop_asks_every_loop_under_deadlines_and_nothing_is_lost) {
  constexpr int kTasks = kSanitized ? 4 : 8;
  constexpr int kQuestions = kSanitized ? 200 : 1000;
  std::atomic<int> done = 0;
  auto asks = [&](Loop& loop, int number) -> Task<> {
    for (int i = 0; i < kQuestions; ++i) {
      const std::string key = std::to_string((number * 7 + i) % 50);
      const auto added = co_await stores->ask(key, [&](Store& store) { return ++store.numbers[key]; });
      done += added && loop.in_loop() ? 1 : 0;
      if (i % 10 != 0) continue;
      // The result does not matter: the function may or may not have been called before the deadline.
      static_cast<void>(
          co_await stores->ask(key, [&](Store& store) { return store.numbers[key]; }).within(Duration(1)));
    }
  };
  std::vector<std::unique_ptr<Scope>> scopes;
  for (size_t i = 0; i < group->size(); ++i) {
    Loop& loop = (*group)[i];
    test::ask(loop, [&] {
      scopes.push_back(std::make_unique<Scope>(loop));
      for (int number = 0; number < kTasks; ++number) scopes.back()->spawn(asks(loop, number));
    });
  }
  for (size_t i = 0; i < group->size(); ++i) {
    EXPECT_TRUE(test::wait_until((*group)[i], [&] { return scopes[i]->size() == 0; }));
    test::ask((*group)[i], [&] { scopes[i].reset(); });
  }
  EXPECT_EQ(done, 4 * kTasks * kQuestions);
  int sum = 0;
  run(3, [&]() -> Task<> {
    auto all = [](const Store& store) {
      int own = 0;
      for (const auto& [key, number] : store.numbers) own += number;
      return own;
    };
    for (const Result<int>& each : co_await stores->ask_all(all)) sum += each.value();
  });
  EXPECT_EQ(sum, done);
}

TEST_P(ShardedTest, loops_stop_while_every_loop_asks_every_loop) {
  auto asks = [&]() -> Task<> {
    for (int i = 0;; ++i) {
      std::string key = std::to_string(i % 50);
      const auto added = co_await stores->ask(key, [&](Store& store) { return ++store.numbers[key]; });
      if (!added) co_return;
    }
  };
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<Scope>> scopes;
    for (size_t i = 0; i < group->size(); ++i) {
      test::ask((*group)[i], [&] {
        scopes.push_back(std::make_unique<Scope>((*group)[i]));
        for (int n = 0; n < 4; ++n) scopes.back()->spawn(asks());
      });
    }
    group->stop();
    group->join();
    scopes.clear();
    group = LoopGroup::start(4, options()).value();
    make_stores();
  }
}

PEAL_TEST_ON_EVERY_ENGINE(ShardedTest);

}  // namespace
}  // namespace peal
