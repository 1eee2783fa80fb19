// SPDX-License-Identifier: BSD-3-Clause
// Tests of how a stream, and the waits in it, end while its layer is being started. A deadline, cancelling, or either
// side ends them, or the end of the server or of the loop.
#include <string>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <tests/support/sealed/later_stream.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::kGoAndHello;
using test::sealed_text;
using test::told;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class StreamStartLayerEndTest : public test::LaterStreamTest {};

TEST_P(StreamStartLayerEndTest, has_the_deadline_of_a_handshake) {
  serve_later(
      [this](Stream stream) -> Task<> {
        auto starts = [&]() -> Task<> { return note_start(stream); };
        auto reads = [&]() -> Task<> { return note_read(stream); };
        auto writes = [&]() -> Task<> { return note_write(stream, "waits"); };
        auto flushes = [&]() -> Task<> { return note_flush(stream); };
        co_await when_all(starts(), reads(), writes(), flushes());
        co_await note_read(stream);
        journal.add("over");
      },
      {.handshake_timeout = milliseconds(5)});
  RawPeer peer = connect_peer();
  ASSERT_TRUE(noted("over"));
  EXPECT_THAT(news(),
              UnorderedElementsAre("start " + told(ETIMEDOUT), "read " + told(ETIMEDOUT), "write " + told(ETIMEDOUT),
                                   "flush " + told(ETIMEDOUT), "read " + told(ETIMEDOUT), "over"));
}

TEST_P(StreamStartLayerEndTest, deadline_and_cancellation_of_who_awaits_it) {
  serve_later([this](Stream stream) -> Task<> {
    journal.add(told(co_await stream.start_layer().within(milliseconds(2))));
    journal.add(told(co_await stream.flush().within(milliseconds(2))));
    journal.add(told(co_await stream.write("waits").within(milliseconds(2))));
    EXPECT_FALSE(stream.is_open());
  });
  RawPeer first = connect_peer();
  EXPECT_TRUE(ends(first));
  EXPECT_THAT(news(), ElementsAre(told(ETIMEDOUT), told(ETIMEDOUT), told(ETIMEDOUT)));
  end_server();
  serve_later([this](Stream stream) -> Task<> {
    journal.add(told(co_await stream.read_until("\n")));
    co_await stream.write("go\n");
    co_await note_start(stream).within(milliseconds(5));
    auto starts_again = [&]() -> Task<> { return note_start(stream); };
    auto ends_at_once = []() -> Task<> { co_return; };
    co_await when_any(starts_again(), ends_at_once());
  });
  RawPeer second = connect_peer();
  second.send("start\n");
  EXPECT_TRUE(ends(second));
  EXPECT_EQ(second.received(), kGoAndHello);
  EXPECT_THAT(news(), ElementsAre("start\n", "start " + told(ETIMEDOUT), "start " + told(EALREADY)));
  end_server();
  serve_later([this](Stream stream) -> Task<> {
    auto starts = [&]() -> Task<> { return note_start(stream); };
    auto yields = []() -> Task<> { co_await sleep({}); };
    co_await when_any(starts(), yields());
  });
  RawPeer third = connect_peer();
  EXPECT_TRUE(ends(third));
  EXPECT_THAT(news(), ElementsAre("start " + told(ECANCELED)));
  EXPECT_EQ(server().stats().handshakes_failed, 0u);
}

TEST_P(StreamStartLayerEndTest, closed_or_aborted_meanwhile_ends_the_waits_of_others) {
  for (const bool aborts : {false, true}) {
    serve_later([this, aborts](Stream stream) -> Task<> {
      auto starts = [&]() -> Task<> { return note_start(stream); };
      auto reads = [&]() -> Task<> { return note_read(stream); };
      auto writes = [&]() -> Task<> { return note_write(stream, "waits"); };
      auto flushes = [&]() -> Task<> { return note_flush(stream); };
      auto closes = [&]() -> Task<> {
        co_await sleep({});
        if (aborts) {
          stream.abort();
        } else {
          stream.close();
        }
        co_await note_start(stream);
      };
      co_await when_all(starts(), reads(), writes(), flushes(), closes());
      journal.add("over");
    });
    RawPeer peer = connect_peer();
    EXPECT_TRUE(ends(peer));
    ASSERT_TRUE(noted("over"));
    EXPECT_THAT(news(),
                UnorderedElementsAre("start " + told(ESHUTDOWN), "read " + told(ESHUTDOWN), "write " + told(ESHUTDOWN),
                                     "flush " + told(ESHUTDOWN), "start " + told(ESHUTDOWN), "over"));
    end_server();
  }
}

TEST_P(StreamStartLayerEndTest, peer_that_ends_meanwhile_ends_it) {
  for (const bool resets : {false, true}) {
    serve_later([this](Stream stream) -> Task<> {
      auto starts = [&]() -> Task<> { journal.add("start " + told(co_await start(stream))); };
      auto writes = [&]() -> Task<> {
        while (stream.is_open()) co_await sleep(milliseconds(1));
        co_await note_write(stream, "waits");
      };
      co_await when_all(starts(), writes());
      co_await note_read(stream);
      journal.add("over");
    });
    RawPeer peer = connect_peer();
    peer.send("start\n");
    ASSERT_TRUE(hears(peer, kGoAndHello));
    if (resets) {
      peer.reset();
    } else {
      peer.fin();
    }
    ASSERT_TRUE(noted("over"));
    const std::string why = resets ? told(ECONNRESET) : told(make_error_code(Trouble::kTruncated));
    EXPECT_THAT(news(), UnorderedElementsAre("start\n", "start " + why, "write " + why, "read " + why, "over"));
    end_server();
  }
}

// The peer has sent all its bytes and its FIN before the layer starts.
TEST_P(StreamStartLayerEndTest, peer_whose_end_came_before_is_read_to_its_end) {
  serve_later([this](Stream stream) -> Task<> {
    journal.add(told(co_await stream.read_until("\n")));
    while (!stream.connection()->facts().peer_ended) co_await sleep(milliseconds(1));
    co_await note_start(stream);
    journal.add(told(co_await stream.read()));
    journal.add(told(co_await stream.read()));
  });
  RawPeer peer = connect_peer();
  peer.send("start\n" + std::string(test::kSealHello) + sealed_text("two") + std::string(test::kEndMark));
  peer.fin();
  EXPECT_TRUE(ends(peer));
  EXPECT_THAT(news(), ElementsAre("start\n", "start done", "two", "end"));
}

// The waits end exactly once, whether the layer shakes hands or waits for earlier output to leave.
TEST_P(StreamStartLayerEndTest, server_may_end_meanwhile) {
  for (const bool output_waits : {false, true}) {
    serve_later([this, output_waits](Stream stream) -> Task<> { return waits(std::move(stream), output_waits); });
    RawPeer peer = connect_peer(4096);
    ASSERT_TRUE(noted("waiting"));
    ask([] {});
    end_server();
    EXPECT_THAT(news(), UnorderedElementsAre("waiting", "start " + told(ESHUTDOWN), "write " + told(ESHUTDOWN),
                                             "flush " + told(ESHUTDOWN), "over"));
  }
}

TEST_P(StreamStartLayerEndTest, loop_may_end_meanwhile) {
  serve_later([this](Stream stream) -> Task<> { return waits(std::move(stream), true); });
  RawPeer first = connect_peer(4096);
  ASSERT_TRUE(noted("waiting"));
  RawPeer second = connect_peer(4096);
  ASSERT_TRUE(wait_until([&] { return journal.count("waiting") == 2; }));
  ask([] {});
  end_loop();
  EXPECT_EQ(journal.count("over"), 2u);
  EXPECT_EQ(journal.count("start " + told(make_error_code(Trouble::kLoopStopped))), 2u);
}

PEAL_TEST_ON_EVERY_ENGINE(StreamStartLayerEndTest);

}  // namespace
}  // namespace peal
