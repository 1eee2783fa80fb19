// SPDX-License-Identifier: BSD-3-Clause
// A connection has one timer. It either shows kept input again after resume(), or limits the graceful end. If output
// drained in the same turn as a resume(), the connection showed the input at once and forgot the timer without
// cancelling it. If the callback then closed the connection, the forgotten timer fired while it was closing, and erased
// the id of its linger timer. Nothing could cancel the linger timer any more. So it fired seconds later and reset
// another connection, which had been given the same slot.

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;

class TimerOfAConnectionThatIsGone : public test::NetTest {
 protected:
  // Fails if the second connection ends. Stores in `end` how the first connection has ended.
  void play(Duration linger, std::string& end);
};

void TimerOfAConnectionThatIsGone::play(Duration linger, std::string& end) {
  std::vector<std::string> ends;
  bool closes = false;
  ConnectionHandle handle;
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&](Connection& connection) { handle = connection.handle(); };
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    if (closes) {
      input.clear();
      return connection.close();
    }
    // Leaves the input, and queues more output than the high-water mark. The output drains after the resume() of this
    // turn.
    connection.pause();
    connection.send(std::string(300'000, 'x'));
    connection.resume();
    closes = true;
    handle.run([](Connection& same) {
      same.pause();
      same.resume();
    });
  };
  callbacks.on_writable = [&](Connection& connection) {
    connection.pause();
    connection.resume();
  };
  callbacks.on_close = [&](Connection&, CloseReason reason) { ends.emplace_back(to_string(reason)); };
  auto server = serve(std::move(callbacks), {.connection = {.linger_timeout = linger}});
  {
    RawPeer first = connect_peer();
    first.send("kept");
    ASSERT_TRUE(wait_until([&] {
      first.pump();
      return first.ended();
    }));
    first.close();
    ASSERT_TRUE(wait_until([&] { return ends.size() == 1; }));
    end = ends.front();
  }
  RawPeer second = connect_peer();
  const TimePoint over = monotonic_now() + 3 * linger;
  ASSERT_TRUE(wait_until([&] { return monotonic_now() > over; }));
  EXPECT_TRUE(second.pump()) << "error " << second.error();
  EXPECT_EQ(ends.size(), 1u);
  ask([&] { handle = {}; });
}

TEST_P(TimerOfAConnectionThatIsGone, does_not_end_the_next_connection) {
  std::string end;
  // On a busy machine the first peer may end later than linger_timeout, and then no timer is left behind. The test then
  // tries again with a longer timeout.
  for (milliseconds linger(60); end != "closed here" && linger < milliseconds(5000); linger *= 2) {
    ASSERT_NO_FATAL_FAILURE(play(linger, end));
  }
  EXPECT_EQ(end, "closed here");
}

PEAL_TEST_ON_EVERY_ENGINE(TimerOfAConnectionThatIsGone);

}  // namespace
}  // namespace peal
