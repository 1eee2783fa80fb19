// SPDX-License-Identifier: BSD-3-Clause
// Four hundred lookups at once took six seconds, or failed. Each lookup sent two questions at once over one UDP socket.
// The answers overflowed the buffer of that socket, or the questions overflowed the buffer of the name server. A lost
// question was sent again only when the try had timed out. Now only 64 names are new at a time, and the other lookups
// wait in a queue.
#include <gmock/gmock.h>

#include <tests/support/dns/resolver_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using test::sentence;
using testing::ElementsAre;

constexpr size_t kAtOnce = 64;

class BurstOfLookups : public test::ResolverTest {
 protected:
  void SetUp() override {
    ResolverTest::SetUp();
    if (!IsSkipped()) set_try(minutes(10));  // a name counts as new for a twentieth of this time
  }
  void set_try(Duration time) {
    ask([&] { resolver.emplace(loop(), ResolverOptions{.servers = dns->server(), .try_timeout = time, .tries = 1}); });
  }
  static std::string name_of(size_t number) { return "n" + std::to_string(number) + ".test"; }
  void start_all(size_t count, const test::DnsScript::Entry& entry) {
    ask([&] {
      for (size_t i = 0; i < count; ++i) {
        dns->entries[name_of(i)] = entry;
        EXPECT_TRUE(resolver->resolve(name_of(i), 80, {.timeout = minutes(1)}, noting(name_of(i))));
      }
    });
  }
  void turn(int times) {
    for (int i = 0; i < times; ++i) ask([&] { dns->pump(); });
  }
};

TEST_P(BurstOfLookups, few_are_asked_at_once_and_all_are_answered_in_order) {
  constexpr size_t kRounds = 5;
  dns->hold();
  start_all(kRounds * kAtOnce, {.addresses = {"192.0.2.7"}});
  for (size_t round = 1; round <= kRounds; ++round) {
    ASSERT_TRUE(asked(round * 2 * kAtOnce));
    turn(10);
    EXPECT_EQ(ask([&] { return dns->held_back(); }), 2 * kAtOnce) << "in round " << round;
    std::vector<std::string> expected;
    for (size_t i = 0; i < round * kAtOnce; ++i) expected.push_back(name_of(i) + ": 192.0.2.7:80");
    ask([&] {
      dns->release();
      dns->hold();
    });
    ASSERT_TRUE(told(expected.size()));
    EXPECT_THAT(journal.lines(), testing::UnorderedElementsAreArray(expected));
  }
  EXPECT_EQ(ask([&] { return dns->questions(); }), kRounds * 2 * kAtOnce) << "no question was asked twice";
}

TEST_P(BurstOfLookups, lookup_in_the_queue_is_cancelled_and_never_asked) {
  dns->hold();
  start_all(kAtOnce, {.addresses = {"192.0.2.7"}});
  const ResolveId id = start("late.test").value();
  ASSERT_TRUE(asked(2 * kAtOnce));
  EXPECT_TRUE(ask([&] { return resolver->cancel(id); }));
  ask([&] { dns->release(); });
  ASSERT_TRUE(told(kAtOnce));
  turn(10);
  EXPECT_EQ(ask([&] { return dns->questions(); }), 2 * kAtOnce);
  EXPECT_EQ(journal.lines().size(), kAtOnce);
}

TEST_P(BurstOfLookups, lookup_in_the_queue_has_its_own_deadline) {
  start_all(kAtOnce, {.mute = true});
  ASSERT_TRUE(start("late.test", milliseconds(20)));
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("late.test: " + sentence(Trouble::kNoAnswer)));
  EXPECT_EQ(ask([&] { return resolver->pending(); }), kAtOnce);
}

TEST_P(BurstOfLookups, names_that_nobody_answers_do_not_hold_up_the_queue) {
  ask([&] {
    ResolverOptions options = from_script();
    options.try_timeout = milliseconds(400);  // a name counts as new for 20 ms
    options.tries = 10;
    resolver.emplace(loop(), options);
  });
  start_all(3 * kAtOnce, {.mute = true});
  dns->entries["four.test"] = {.addresses = {"192.0.2.7"}};
  EXPECT_EQ(look_up("four.test"), "192.0.2.7:80");
  EXPECT_EQ(journal.lines().size(), 1u);
}

TEST_P(BurstOfLookups, queue_is_dropped_with_its_resolver) {
  start_all(4 * kAtOnce, {.mute = true});
  ASSERT_TRUE(asked(2 * kAtOnce));
  ask([&] { resolver.reset(); });
  turn(5);
  EXPECT_TRUE(journal.lines().empty());
}

PEAL_TEST_ON_EVERY_ENGINE(BurstOfLookups);

}  // namespace
}  // namespace peal
