// SPDX-License-Identifier: BSD-3-Clause
// Tests of OnLoop when its loop ends: functions that were accepted before are called, and a thread that would wait for
// itself gets an assertion instead.
#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/scope.h>
#include <peal/share/loop_object.h>
#include <tests/support/loop_thread.h>

namespace peal {
namespace {

using testing::ElementsAre;

class EndOfOnLoop : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (!IsSkipped()) away.emplace(options());
  }

  std::optional<test::LoopThread> away;
};
PEAL_TEST_ON_EVERY_ENGINE(EndOfOnLoop);

struct Member {
  explicit Member(std::vector<std::string>& its_notes) : notes(its_notes) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() { notes.emplace_back("dies"); }

  std::vector<std::string>& notes;
};

TEST_P(EndOfOnLoop, what_an_object_made_at_the_last_moment_is_told_reaches_it) {
  std::vector<std::string> notes;
  std::optional<test::Standstill> standstill(std::in_place, away->loop());
  away->loop().stop();
  const OnLoop<Member> member(away->loop(), [&](Loop&) { return Member(notes); });
  EXPECT_TRUE(member.tell([](Member& there) { there.notes.emplace_back("told"); }));
  EXPECT_TRUE(away->loop().post([&] { notes.emplace_back("a post of the same moment"); }));
  standstill.reset();
  away->finish();
  EXPECT_THAT(notes, ElementsAre("told", "a post of the same moment", "dies"));
  EXPECT_FALSE(member.tell([](Member&) { ADD_FAILURE() << "it is gone"; }));
}

// An object may refer to those that were made before it.
TEST_P(EndOfOnLoop, of_several_objects_the_last_one_made_dies_first) {
  constexpr int kObjects = 16;
  std::vector<int> died;
  struct Numbered {
    Numbered(std::vector<int>& its_died, int its_number) : died(its_died), number(its_number) {}
    Numbered(const Numbered&) = delete;
    Numbered& operator=(const Numbered&) = delete;
    ~Numbered() { died.push_back(number); }
    std::vector<int>& died;
    int number;
  };
  std::vector<OnLoop<Numbered>> objects;
  for (int i = 0; i < kObjects; ++i) {
    objects.emplace_back(away->loop(), [&died, i](Loop&) { return Numbered(died, i); });
  }
  away->finish();
  EXPECT_EQ(died.size(), static_cast<size_t>(kObjects));
  EXPECT_TRUE(std::ranges::is_sorted(died, std::greater()));
}

// The thread that would wait for the call's end is the thread that makes the call.
TEST(EndOfOnLoopDeathTest, a_loop_that_ends_inside_the_question_of_its_task) {
  const auto ends = [] {
    Loop here;
    Loop there;
    ASSERT_TRUE(here.begin() && there.begin());
    const OnLoop<int> number(there);
    auto asks = [&]() -> Task<> {
      static_cast<void>(co_await number.ask([&](int&) { here.end(); }).within(std::chrono::hours(1)));
    };
    Scope scope(here);
    scope.spawn(asks());
    here.step();
    there.step();
  };
  EXPECT_DEATH(ends(), "a loop is ended by a call that one of its own tasks waits for");
}

}  // namespace
}  // namespace peal
