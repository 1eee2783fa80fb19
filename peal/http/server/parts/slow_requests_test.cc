// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/slow_requests.h>

#include <string>

#include <gmock/gmock.h>

namespace peal::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr TimePoint kBegin{std::chrono::hours(1)};

class SlowRequestsTest : public testing::Test {
 protected:
  void add(std::string target, Duration took) { slow.add({.took = took, .target = std::move(target)}); }
  std::vector<std::string> targets() const {
    std::vector<std::string> targets;
    for (const SlowRequest& request : slow.all()) targets.push_back(request.target);
    return targets;
  }

  SlowRequests slow{kBegin};
};

TEST_F(SlowRequestsTest, slowest_comes_first_and_equal_ones_stay_in_their_order) {
  EXPECT_THAT(targets(), IsEmpty());
  add("b", milliseconds(2));
  add("c", milliseconds(1));
  add("a", milliseconds(3));
  add("b2", milliseconds(2));
  EXPECT_THAT(targets(), ElementsAre("a", "b", "b2", "c"));
}

TEST_F(SlowRequestsTest, full_list_takes_only_slower_ones) {
  EXPECT_EQ(slow.least(), SlowRequests::kLeast);
  for (size_t i = 1; i <= SlowRequests::kMost; ++i) add(std::to_string(i), milliseconds(i));
  EXPECT_EQ(slow.least(), milliseconds(1));
  add("as quick", milliseconds(1));
  EXPECT_EQ(targets().back(), "1");
  add("slower", milliseconds(5));
  EXPECT_EQ(slow.all().size(), SlowRequests::kMost);
  EXPECT_EQ(targets().back(), "2");
  EXPECT_EQ(slow.least(), milliseconds(2));
}

TEST_F(SlowRequestsTest, request_is_kept_for_5_to_10_minutes) {
  add("first", milliseconds(9));
  slow.age(kBegin + minutes(5));
  EXPECT_THAT(targets(), ElementsAre("first"));
  add("second", milliseconds(10));
  slow.age(kBegin + minutes(10) - milliseconds(1));
  EXPECT_THAT(targets(), ElementsAre("second", "first"));
  slow.age(kBegin + minutes(10));
  EXPECT_THAT(targets(), ElementsAre("second"));
  slow.age(kBegin + minutes(15));
  EXPECT_THAT(targets(), IsEmpty());
}

TEST_F(SlowRequestsTest, after_a_long_silence_both_halves_are_gone) {
  add("old", milliseconds(9));
  slow.age(kBegin + minutes(60));
  EXPECT_THAT(targets(), IsEmpty());
  add("new", milliseconds(1));
  slow.age(kBegin + minutes(69));
  EXPECT_THAT(targets(), ElementsAre("new"));
}

TEST_F(SlowRequestsTest, both_halves_together_list_no_more_than_one) {
  for (size_t i = 0; i < SlowRequests::kMost; ++i) add("old", milliseconds(1));
  slow.age(kBegin + minutes(5));
  EXPECT_EQ(slow.least(), SlowRequests::kLeast);
  add("new", milliseconds(2));
  EXPECT_EQ(slow.all().size(), SlowRequests::kMost);
  EXPECT_EQ(targets().front(), "new");
}

}  // namespace
}  // namespace peal::detail
