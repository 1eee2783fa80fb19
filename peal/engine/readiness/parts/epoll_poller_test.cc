// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/epoll_poller.h>

#include <sys/eventfd.h>

#include <array>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

// The kernel writes the events of one wait one after the other. A PollEvent of another size than struct epoll_event
// would mix the members of neighbours.
TEST(EpollPoller, each_event_of_one_wait_has_its_whole_key) {
  auto poller = std::move(*EpollPoller::make());
  std::vector<Fd> fds;
  std::set<uint64_t> given;
  for (uint64_t number = 1; number <= 5; ++number) {
    const uint64_t key = number << 60 | 0x0123'4567'89ab'cd00 | number;
    fds.emplace_back(::eventfd(1, EFD_CLOEXEC));
    ASSERT_TRUE(poller->add(fds.back().get(), key, kReadable, false).has_value());
    given.insert(key);
  }
  std::array<PollEvent, 8> events{};
  ASSERT_EQ(poller->wait(events, kNever), fds.size());
  std::set<uint64_t> told;
  for (size_t i = 0; i < fds.size(); ++i) {
    told.insert(uint64_t{events[i].key});
    EXPECT_EQ(uint32_t{events[i].readiness}, kReadable);
  }
  EXPECT_EQ(told, given);
}

}  // namespace
}  // namespace peal::detail
