// SPDX-License-Identifier: BSD-3-Clause
// A timer was called although another timer of the same tick had cancelled it, because the timers of that tick had
// already been collected. A timer that another callback of the same turn had cancelled was called as well. Now cancel()
// either returns true and the timer is never called, or it returns false.
#include <random>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

class CancelledTimerNeverFires : public test::NetTest {};

TEST_P(CancelledTimerNeverFires, when_a_timer_of_its_own_tick_cancels_it) {
  static constexpr int kTimers = 200;
  struct State {
    std::vector<TimerId> ids;
    std::vector<bool> cancelled;
    int fired = 0;
    int wrongly = 0;
    std::mt19937 random{7};
  };
  State state;
  ask([&] {
    state.cancelled.assign(kTimers, false);
    const TimePoint due = loop().now() + std::chrono::milliseconds(5);
    for (int i = 0; i < kTimers; ++i) {
      state.ids.push_back(loop().at(due, [this, &state, i] {
        ++state.fired;
        if (state.cancelled[static_cast<size_t>(i)]) ++state.wrongly;
        // Cancels a random timer of this tick. That timer may already have fired.
        const size_t victim = state.random() % kTimers;
        if (loop().cancel(state.ids[victim])) state.cancelled[victim] = true;
      }));
    }
  });
  auto cancelled = [&] { return std::ranges::count(state.cancelled, true); };
  ASSERT_TRUE(wait_until([&] { return state.fired + cancelled() == kTimers; }));
  ask([&] {
    EXPECT_EQ(state.wrongly, 0);
    EXPECT_GT(cancelled(), 0);
  });
}

TEST_P(CancelledTimerNeverFires, when_an_event_of_the_turn_in_which_it_is_due_cancels_it) {
  int fired = 0;
  int answered = 0;
  TimerId timeout;
  // Each request cancels the timeout that the request before it set, and sets a new one. The timeout and the request
  // may come in the same turn.
  auto server = serve({.on_message = [&](Connection& connection, Buffer& input) {
    input.clear();
    const bool was_pending = connection.loop().cancel(timeout);
    const int before = fired;
    if (was_pending) connection.loop().post([&fired, before] { EXPECT_EQ(fired, before); });
    timeout = connection.loop().after(std::chrono::milliseconds(1), [&] { ++fired; });
    ++answered;
  }});
  RawPeer peer = connect_peer();
  for (int i = 0; i < 100; ++i) {
    peer.send("?");
    ASSERT_TRUE(wait_until([&] { return answered > i; }));
    // Cancels the timeout if it is still pending. If cancel() returns true here, the timeout must not fire any more.
    const bool cancelled = ask([&] { return loop().cancel(timeout); });
    const int before = ask([&] { return fired; });
    if (!cancelled) continue;
    ask([] {});
    EXPECT_EQ(ask([&] { return fired; }), before);
  }
}

PEAL_TEST_ON_EVERY_ENGINE(CancelledTimerNeverFires);

}  // namespace
}  // namespace peal
