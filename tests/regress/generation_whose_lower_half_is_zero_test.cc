// SPDX-License-Identifier: BSD-3-Clause
// A poller identifies a stream or a watch by its slot and by 16 bits of its generation. A free slot has generation 0.
// The lower 16 bits of the 65,536th generation are 0 as well. A callback released the watch of that generation when an
// event of the watch had already been fetched in the same turn. The event then seemed to belong to the free slot, and
// an owner was called that no longer existed.
//
// Now no generation is given out whose lower 16 bits are 0.
#include <sys/eventfd.h>

#include <functional>

#include <peal/base/slot_table.h>
#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class GenerationLowerHalf : public EngineTest {
 protected:
  struct Sink final : WatchEvents {
    void on_ready(bool, bool) override {
      ++ready;
      if (when_ready) when_ready();
    }
    void on_unwatched() override { unwatched = true; }
    int ready = 0;
    bool unwatched = false;
    std::function<void()> when_ready;
  };

  static Fd silent() { return Fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }
  static void make_ready(const Fd& fd) { ASSERT_EQ(::eventfd_write(fd.get(), 1), 0); }
  // Starts and ends watches until the next generation of a watch is 65,535.
  void use_up_generations() {
    const Fd fd = silent();
    Sink sink;
    for (uint32_t last = 0; last % 65'536 != 65'534;) {
      const WatchId id = rig().engine().watch(fd.get(), true, false, sink).value();
      last = id.generation;
      rig().engine().unwatch(id);
      if (last % 256 == 254) rig().wait(TimePoint::min());
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, GenerationLowerHalf, testing::ValuesIn(every_engine()), engine_label);

TEST_P(GenerationLowerHalf, watch_that_ended_in_the_same_turn_is_not_called) {
  use_up_generations();
  const Fd one = silent();
  const Fd other = silent();
  Sink of_one;
  Sink of_other;
  WatchId id_of_one = rig().engine().watch(one.get(), true, false, of_one).value();
  WatchId id_of_other = rig().engine().watch(other.get(), true, false, of_other).value();
  EXPECT_EQ(id_of_one.generation, 65'535U);
  // Both watches are ready. The one that is called first ends the other.
  of_one.when_ready = [&] { rig().engine().unwatch(id_of_other); };
  of_other.when_ready = [&] { rig().engine().unwatch(id_of_one); };
  make_ready(one);
  make_ready(other);
  ASSERT_TRUE(rig().run_until([&] { return of_one.unwatched || of_other.unwatched; }));
  EXPECT_TRUE(of_one.ready == 0 || of_other.ready == 0) << "a watch was called after unwatch()";
  rig().engine().unwatch(of_one.unwatched ? id_of_other : id_of_one);
  ASSERT_TRUE(rig().run_until([&] { return of_one.unwatched && of_other.unwatched; }));
}

// Streams and listeners get their generations from a SlotTable too.
TEST(GenerationLowerHalfOfSlots, is_never_zero) {
  SlotTable<SlotLinks> table;
  for (int i = 0; i < 200'000; ++i) {
    const uint32_t slot = table.acquire();
    ASSERT_NE(table[slot].generation & 0xffff, 0U) << "after " << i;
    table.release(slot);
  }
}

}  // namespace
}  // namespace peal
