// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/event_stream.h>

#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kGetEvents = "GET /events HTTP/1.1\r\nHost: a\r\n\r\n";

class EventStreamTest : public test::HttpTest {
 protected:
  void TearDown() override {
    channel.close();
    EXPECT_TRUE(IsSkipped() || wait_until([&] { return channel.size() == 0; }));
    test::HttpTest::TearDown();
  }
  // Each request of /events adds a stream to the channel.
  void serve_channel(EventStreamOptions options = {}, const HttpServerOptions& server_options = {}) {
    options.on_end = [this] { ++ended; };
    Router router;
    router.get("/events", [this, options](HttpExchange& exchange) {
      const EventStream stream(exchange, options);
      last_id = stream.last_event_id();
      channel.add(stream);
    });
    serve(std::move(router), server_options);
  }
  RawPeer subscriber(std::string_view request = kGetEvents) {
    RawPeer one = peer_sending(request);
    EXPECT_TRUE(hears(one, "\r\n\r\n"));
    return one;
  }
  bool waits_for_ends(int count) {
    return static_cast<bool>(wait_until([&] { return ended == count; }));
  }

  EventChannel channel;
  std::atomic<int> ended = 0;
  std::string last_id;  // used on the loop only
};
PEAL_TEST_ON_EVERY_ENGINE(EventStreamTest);

TEST_P(EventStreamTest, begins_at_once_and_goes_on_with_each_event) {
  serve_channel();
  RawPeer one = subscriber("GET /events HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 16\r\n\r\n");
  EXPECT_EQ(test::undated(one.received()),
            "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
            "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n");
  ask([&] { EXPECT_EQ(last_id, "16"); });
  EXPECT_EQ(channel.send({.event = "price", .id = "17", .data = "one\ntwo"}), 1u);
  EXPECT_TRUE(hears(one, "event: price\nid: 17\ndata: one\ndata: two\n\n\r\n"));
  ask([&] { EXPECT_EQ(channel.send({.data = "from its loop"}), 1u); });
  EXPECT_TRUE(hears(one, "data: from its loop\n\n\r\n"));
  channel.close();
  EXPECT_TRUE(hears(one, "\r\n0\r\n\r\n"));
  EXPECT_TRUE(waits_for_ends(1));
  EXPECT_EQ(channel.size(), 0u);
  EXPECT_EQ(channel.send({.data = "late"}), 0u);
  one.send("GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(all_of(one), HasSubstr("0\r\n\r\nHTTP/1.1 404 ")) << "the connection goes on";
}

TEST_P(EventStreamTest, head_and_an_old_client_are_served_too) {
  serve_channel();
  EXPECT_THAT(answer_to("HEAD", "/events"), HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_TRUE(waits_for_ends(1));
  RawPeer old = subscriber("GET /events HTTP/1.0\r\n\r\n");
  channel.send({.data = "plain"});
  channel.close();
  EXPECT_THAT(all_of(old), HasSubstr("\r\n\r\ndata: plain\n\n"));
}

TEST_P(EventStreamTest, is_sent_a_comment_while_it_is_quiet) {
  serve_channel({.heartbeat = milliseconds(1)});
  RawPeer one = subscriber();
  EXPECT_TRUE(hears(one, ":\n\r\n", 3));
  EXPECT_EQ(channel.send({.data = "and goes on"}), 1u);
  EXPECT_TRUE(hears(one, "data: and goes on"));
}

TEST_P(EventStreamTest, ends_when_its_client_leaves) {
  serve_channel({.heartbeat = milliseconds(1)});
  RawPeer one = subscriber();
  RawPeer other = subscriber();
  EXPECT_EQ(channel.size(), 2u);
  one.close();
  EXPECT_TRUE(waits_for_ends(1));
  EXPECT_EQ(channel.send({.data = "who is left"}), 1u);
  EXPECT_TRUE(hears(other, "data: who is left"));
}

// One stream has begun. The other begins after an answer that the drain waits for.
TEST_P(EventStreamTest, a_drain_does_not_wait_for_it) {
  HttpExchangeHandle pending;
  Router router;
  router.get("/events",
             [&](HttpExchange& exchange) { channel.add(EventStream(exchange, {.on_end = [this] { ++ended; }})); });
  router.get("/later", [&](HttpExchange& exchange) {
    exchange.begin(200);
    pending = exchange.handle();
  });
  serve(std::move(router), {.drain_grace = {}});
  RawPeer one = subscriber();
  RawPeer other = peer_sending("GET /later HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(kGetEvents));
  EXPECT_TRUE(wait_until([&] { return server().stats().pipelined > 0; }));
  std::promise<DrainReport> report;
  server().drain(std::chrono::minutes(10), [&](const DrainReport& done) { report.set_value(done); });
  EXPECT_THAT(all_of(one), HasSubstr("\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(waits_for_ends(1));
  pending.run([](HttpExchange& exchange) {
    exchange.write("at last");
    exchange.end();
  });
  EXPECT_THAT(all_of(other), testing::AllOf(HasSubstr("at last"), HasSubstr("Connection: close\r\n"),
                                            testing::EndsWith("\r\n\r\n0\r\n\r\n")));
  EXPECT_TRUE(waits_for_ends(2));
  one.close();
  other.close();
  const DrainReport done = report.get_future().get();
  EXPECT_EQ(done.finished, 2u);
  EXPECT_EQ(done.forced, 0u);
}

TEST_P(EventStreamTest, who_reads_too_slowly_is_cut_off) {
  serve_channel({.most_queued_bytes = 256 * 1024});
  RawPeer one = peer_sending(kGetEvents, 16 * 1024);
  EXPECT_TRUE(wait_until([&] { return channel.size() == 1; }));
  const EventText event({.data = std::string(100'000, 'x')});
  EXPECT_TRUE(wait_until([&] { return channel.send(event) == 0; }));
  EXPECT_TRUE(waits_for_ends(1));
}

TEST_P(EventStreamTest, or_misses_what_there_is_no_room_for) {
  EventStream slow;
  serve_get("/events", [&](HttpExchange& exchange) {
    slow = EventStream(exchange, {.most_queued_bytes = 256 * 1024, .drops = true});
  });
  RawPeer one = peer_sending(kGetEvents, 16 * 1024);
  const EventText event({.data = std::string(100'000, 'x')});
  EXPECT_TRUE(wait_until([&] {
    while (slow.is_open() && slow.send(event)) continue;
    return slow.dropped() > 0;
  }));
  ask([&] { EXPECT_TRUE(slow.is_open()); });
  EXPECT_TRUE(wait_until([&] {
    one.pump();
    return slow.send({.data = "the latest"});
  }));
  EXPECT_TRUE(hears(one, "data: the latest\n\n"));
  ask([&] { slow.close(); });
}

TEST_P(EventStreamTest, events_of_another_thread_come_in_their_order_to_all) {
  serve_channel();
  std::vector<RawPeer> peers;
  for (int i = 0; i < 5; ++i) peers.push_back(subscriber());
  std::string expected;
  std::thread sender([&] {
    for (int i = 0; i < 200; ++i) EXPECT_EQ(channel.send({.data = std::to_string(i)}), 5u);
    channel.close();
  });
  sender.join();
  for (int i = 0; i < 200; ++i) {
    const std::string text = event_text({.data = std::to_string(i)});
    expected += fmt::format("{:x}\r\n{}\r\n", text.size(), text);
  }
  for (RawPeer& each : peers) {
    EXPECT_TRUE(hears(each, "\r\n0\r\n\r\n"));
    EXPECT_THAT(each.received(), HasSubstr(expected));
  }
}

TEST_P(EventStreamTest, in_a_coroutine_until_the_client_leaves_or_the_coroutine_ends) {
  std::atomic<int> cancelled = 0;
  std::atomic<int> gone = 0;
  Router router;
  router.get("/two", [&](HttpExchange& exchange) -> Task<> {
    const EventStream stream(exchange);
    stream.send({.data = "1"});
    constexpr auto kPause = milliseconds(1);
    co_await sleep(kPause);
    stream.send({.data = "2"});
  });
  router.get("/for-ever", [&](HttpExchange& exchange) -> Task<> {
    const EventStream stream(exchange);
    for (;;) {
      constexpr auto kPause = milliseconds(1);
      const Result<void> slept = co_await sleep(kPause);
      if (!slept) {
        ++cancelled;
        co_return;
      }
      if (!stream.send({.data = "again"})) {
        ++gone;
        co_return;
      }
    }
  });
  serve(std::move(router));
  EXPECT_THAT(answer_to("GET", "/two"), HasSubstr("9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"));
  RawPeer one = subscriber("GET /for-ever HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(hears(one, "data: again", 2));
  one.close();
  EXPECT_TRUE(wait_until([&] { return cancelled + gone == 1; }));
}

TEST_P(EventStreamTest, the_last_copy_to_go_closes_it) {
  EventStream kept;
  Router router;
  router.get("/events", [&](HttpExchange& exchange) { kept = EventStream(exchange, {.on_end = [this] { ++ended; }}); });
  router.get("/dropped", [this](HttpExchange& exchange) { EventStream(exchange, {.on_end = [this] { ++ended; }}); });
  serve(std::move(router));
  EXPECT_THAT(answer_to("GET", "/dropped"), HasSubstr("\r\n0\r\n\r\n"));
  EXPECT_TRUE(waits_for_ends(1));
  RawPeer one = subscriber();
  kept = EventStream();  // on the thread of the test
  EXPECT_TRUE(hears(one, "\r\n0\r\n\r\n"));
  EXPECT_TRUE(waits_for_ends(2));
}

TEST_P(EventStreamTest, outlives_its_server) {
  serve_channel();
  const RawPeer one = subscriber();
  end_server();
  ask([&] { channel.send({.data = "to nobody"}); });
  EXPECT_EQ(channel.size(), 0u);
  const EventStream none;
  EXPECT_FALSE(none.is_open() || none.send({.data = "x"}));
  none.close();
  EXPECT_EQ(none.last_event_id(), "");
}

}  // namespace
}  // namespace peal
