// SPDX-License-Identifier: BSD-3-Clause
// Regression test for kRegistrationLost. A ring that runs out of room ends a poll by itself and says so with the poll's
// last event. Kernels do that too seldom to test, so the poller here does it with every event.
#include <memory>
#include <string>
#include <unordered_set>

#include <peal/engine/readiness/parts/epoll_poller.h>
#include <peal/engine/readiness/parts/readiness_engine.h>
#include <tests/support/engine_rig.h>

namespace peal::detail {
namespace {

class ForgetfulPoller final : public Poller {
 public:
  explicit ForgetfulPoller(std::unique_ptr<Poller> poller) : poller_(std::move(poller)) {}
  static Result<std::unique_ptr<Poller>> make() {
    Result<std::unique_ptr<Poller>> poller = EpollPoller::make();
    if (!poller) return poller;
    return std::make_unique<ForgetfulPoller>(std::move(*poller));
  }

  Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) override {
    if (edge) edges_.insert(key);
    return poller_->add(fd, key, interest, edge);
  }
  void modify(int fd, uint64_t key, uint32_t interest, bool edge) override {
    lapsed_.erase(key);
    poller_->modify(fd, key, interest, edge);
  }
  void remove(int fd, uint64_t key) override { poller_->remove(fd, key); }
  void close(Fd fd, uint64_t key) override { poller_->close(std::move(fd), key); }
  size_t wait(std::span<PollEvent> events, TimePoint deadline) override {
    const size_t count = poller_->wait(events, deadline);
    size_t told = 0;
    for (PollEvent event : events.first(count)) {
      const uint64_t key = event.key;  // A copy, since no reference can bind to a packed member.
      if (lapsed_.contains(key)) continue;
      if (edges_.contains(key)) {
        event.readiness |= kRegistrationLost;
        lapsed_.insert(key);
      }
      events[told++] = event;
    }
    return told;
  }
  bool is_edge_triggered() const override { return poller_->is_edge_triggered(); }

 private:
  const std::unique_ptr<Poller> poller_;
  std::unordered_set<uint64_t> edges_;
  std::unordered_set<uint64_t> lapsed_;
};

class LapsingPollerTest : public testing::Test {
 protected:
  EngineRig rig_{std::make_unique<ReadinessEngine>("lapsing", ForgetfulPoller::make)};
};

TEST_F(LapsingPollerTest, what_the_poller_lost_sight_of_is_polled_again) {
  auto [client, server] = rig_.pair();
  client.receive();
  server.receive();
  for (size_t round = 1; round <= 10; ++round) {
    client.send("ping");
    ASSERT_TRUE(rig_.run_until([&] { return server.received.size() == 4 * round; }));
    server.send("pong");
    ASSERT_TRUE(rig_.run_until([&] { return client.received.size() == 4 * round; }));
  }
}

TEST_F(LapsingPollerTest, room_to_send_is_told_after_a_lapse) {
  auto [client, server] = rig_.pair();
  const std::string bytes(20'000'000, 'x');
  client.send(bytes);
  while (client.queued() == 0 || rig_.stats().short_sends == 0) rig_.wait(kNever);
  server.receive();
  ASSERT_TRUE(rig_.run_until([&] { return server.received.size() == bytes.size(); }));
  client.close();
  ASSERT_TRUE(rig_.run_until([&] { return server.ended; }));
}

TEST_F(LapsingPollerTest, waker_goes_on_waking) {
  for (int round = 0; round < 5; ++round) {
    rig_.engine().waker()->wake();
    EXPECT_GE(rig_.wait(kNever), 1U);
  }
  EXPECT_EQ(rig_.stats().wakeups, 5U);
}

}  // namespace
}  // namespace peal::detail
