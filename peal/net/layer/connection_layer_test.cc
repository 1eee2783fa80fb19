// SPDX-License-Identifier: BSD-3-Clause
// Connections over a layer that their server or client was given, beside connections without one. Whoever sends, the
// bytes leave sealed in one piece. Ends are reported as what they are, and pipes join both kinds.

#include <string>

#include <peal/net/pipe.h>
#include <tests/support/net_rig.h>
#include <tests/support/sealed/sealed_peer.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using test::SealedPeer;
using Records = std::vector<std::string>;

class ConnectionLayerTest : public test::OverLayerTest {
 protected:
  testing::AssertionResult hears(SealedPeer& peer, const Records& records) {
    return wait_until([&] { return peer.records() == records; });
  }
  ConnectionCallbacks keeping() {
    return journal.callbacks({.on_open = [this](Connection& connection) { handle = connection.handle(); }});
  }
};

TEST_P(ConnectionLayerTest, stands_beside_plain_connections_on_one_loop) {
  auto sealed = serve_over_layer(test::echoing());
  const SocketAddress sealed_address = address();
  auto plain = serve(test::echoing());
  std::string got[2];
  std::vector<std::unique_ptr<Client>> clients;
  for (int i : {0, 1}) {
    ConnectionCallbacks callbacks{.on_open = [](Connection& connection) { connection.send("ding dong"); },
                                  .on_message =
                                      [&got, i](Connection&, Buffer& input) {
                                        got[i] += input.to_string();
                                        input.clear();
                                      }};
    ClientOptions options;
    options.connection.layer = i == 0 ? &layer : nullptr;
    clients.push_back(std::make_unique<Client>(loop(), std::move(callbacks), options));
    ASSERT_TRUE(clients.back()->connect(i == 0 ? sealed_address : address()));
  }
  EXPECT_TRUE(wait_until([&] { return got[0] == "ding dong" && got[1] == "ding dong"; }));
}

TEST_P(ConnectionLayerTest, what_a_callback_sends_is_sealed_in_one_piece) {
  auto server = serve_over_layer({.on_message = [](Connection& connection, Buffer& input) {
    connection.send("<");
    connection.send(std::move(input));
    connection.send(share_bytes("middle"));
    connection.send(">");
  }});
  SealedPeer one = peer();
  one.send("hello");
  EXPECT_TRUE(hears(one, {"<hellomiddle>"}));
}

TEST_P(ConnectionLayerTest, what_is_sent_outside_a_callback_is_sealed_before_the_wait) {
  auto server = serve_over_layer(keeping());
  SealedPeer one = peer();
  ASSERT_TRUE(opened());
  // One posted task.
  ask([&] {
    handle.send("a ");
    handle.send("task");
  });
  EXPECT_TRUE(hears(one, {"a task"}));
  ask([&] {
    loop().after(milliseconds(1), [&] {
      handle.send("a ");
      handle.send("timer");
    });
  });
  EXPECT_TRUE(hears(one, {"a task", "a timer"}));
  EXPECT_TRUE(handle.send("another thread"));
  EXPECT_TRUE(hears(one, {"a task", "a timer", "another thread"}));
}

TEST_P(ConnectionLayerTest, what_another_connections_callback_sends_is_sealed_too) {
  auto sealed = serve_over_layer(keeping());
  SealedPeer one = peer();
  ASSERT_TRUE(opened());
  auto plain = serve({.on_message = [&](Connection&, Buffer& input) {
    handle.send(input.view());
    handle.send("!");
    input.clear();
  }});
  RawPeer other = connect_peer();
  other.send("from elsewhere");
  EXPECT_TRUE(hears(one, {"from elsewhere!"}));
}

TEST_P(ConnectionLayerTest, what_waits_below_counts_towards_the_marks) {
  bool writable = false;
  ConnectionCallbacks callbacks = keeping();
  callbacks.on_writable = [&](Connection&) { writable = true; };
  auto server = serve_over_layer(std::move(callbacks), {.connection = {.high_water_bytes = 20'000'000}});
  SealedPeer one(connect_peer(4096));
  ASSERT_TRUE(opened());
  auto send = [&](size_t bytes) {
    bool below = false;
    ask([&] { handle.run([&](Connection& connection) { below = connection.send(std::string(bytes, 'x')); }); });
    return below;
  };
  EXPECT_TRUE(send(19'000'000));
  EXPECT_FALSE(send(8'000'000)) << "what was sealed before is forgotten";
  EXPECT_FALSE(writable);
  ASSERT_TRUE(wait_until([&] {
    one.raw.pump();
    return writable;
  }));
}

TEST_P(ConnectionLayerTest, peer_that_reads_nothing_meets_the_output_limit) {
  ConnectionCallbacks callbacks = keeping();
  callbacks.on_open = [&](Connection& connection) {
    for (int i = 0; i < 100 && connection.is_open(); ++i) connection.send(std::string(1'000'000, 'x'));
  };
  auto server = serve_over_layer(std::move(callbacks), {.connection = {.output_limit_bytes = 20'000'000}});
  SealedPeer one(connect_peer(4096));
  EXPECT_TRUE(noted("close: too much unsent output"));
}

// Each send adds bytes of the layer's own to the queue. Those count neither as taken by the peer nor as activity.
TEST_P(ConnectionLayerTest, small_sends_to_a_peer_that_reads_nothing_are_no_progress) {
  ConnectionCallbacks callbacks = keeping();
  TimerId timer;
  callbacks.on_open = [&](Connection& connection) {
    handle = connection.handle();
    connection.send(std::string(20'000'000, 'x'));
    timer = loop().every(milliseconds(2), [&] { handle.send("ping"); });
  };
  auto server = serve_over_layer(std::move(callbacks),
                                 {.connection = {.min_write_bytes = 1000, .write_window = milliseconds(50)}});
  SealedPeer one(connect_peer(4096));
  EXPECT_TRUE(noted("close: the peer read too slowly"));
  ask([&] { loop().cancel(timer); });
}

TEST_P(ConnectionLayerTest, graceful_ends_are_marked) {
  auto server = serve_over_layer({.on_message = [](Connection& connection, Buffer& input) {
    const std::string word = input.to_string();
    input.clear();
    connection.send("bye");
    if (word == "close") connection.close();
    if (word == "close when sent") connection.close_when_sent();
    if (word == "shut down") connection.shutdown_send();
  }});
  for (const char* word : {"close", "close when sent", "shut down"}) {
    SealedPeer one = peer();
    one.send(word);
    ASSERT_TRUE(wait_until([&] { return one.ended(); })) << word;
    EXPECT_EQ(one.records(), (Records{"bye", ""})) << word;
  }
}

// A reset with an empty queue still sends the end mark, so the peer knows that it has everything.
TEST_P(ConnectionLayerTest, end_by_a_deadline_and_by_the_servers_end_are_marked) {
  auto idle = serve_over_layer(journal.callbacks(), {.connection = {.idle_timeout = milliseconds(20)}});
  SealedPeer one = peer();
  ASSERT_TRUE(noted("close: idle for too long"));
  ASSERT_TRUE(wait_until([&] { return one.ended(); }));
  EXPECT_EQ(one.records(), Records{""});
  auto dies = serve_over_layer(keeping());
  SealedPeer other = peer();
  ASSERT_TRUE(opened());
  dies.reset();
  ASSERT_TRUE(wait_until([&] { return other.ended(); }));
  EXPECT_EQ(other.records(), Records{""});
}

TEST_P(ConnectionLayerTest, what_is_dropped_is_not_marked_as_complete) {
  ConnectionCallbacks callbacks = keeping();
  callbacks.on_open = [&](Connection& connection) {
    handle = connection.handle();
    connection.send(std::string(20'000'000, 'x'));
  };
  auto server = serve_over_layer(std::move(callbacks));
  SealedPeer one = peer();
  ASSERT_TRUE(opened());
  server.reset();
  ASSERT_TRUE(ends(one.raw));
  EXPECT_NE(one.records().back(), "");
}

TEST_P(ConnectionLayerTest, facts_tell_of_the_layer_where_there_is_one) {
  auto server = serve_over_layer({.on_open = [this](Connection& connection) {
    const Result<LayerFacts> facts = connection.layer_facts();
    EXPECT_EQ(facts ? facts->protocol : facts.error().message(), "sealed");
    EXPECT_EQ(connection.facts().layer.value_or(LayerFacts{}).cipher, "turned");
    journal.add("sealed");
  }});
  SealedPeer one = peer();
  EXPECT_TRUE(noted("sealed"));
  auto plain = serve({.on_open = [this](Connection& connection) {
    EXPECT_EQ(test::error_of(connection.layer_facts()), errno_code(ENOTSUP));
    EXPECT_FALSE(connection.facts().layer.has_value());
    journal.add("plain");
  }});
  RawPeer other = connect_peer();
  EXPECT_TRUE(noted("plain"));
}

TEST_P(ConnectionLayerTest, failed_output_and_the_end_behind_it_are_one_end) {
  ConnectionCallbacks callbacks = keeping();
  callbacks.on_peer_end = [this](Connection&) { journal.add("end"); };
  auto server = serve_over_layer(std::move(callbacks));
  SealedPeer one = peer();
  ASSERT_TRUE(opened());
  one.raw.reset();
  ask([&] { handle.send("into the void"); });
  EXPECT_TRUE(noted("close: reset by the peer"));
  EXPECT_EQ(journal.lines().size(), 1u);
}

// Each side's port has ids of its own, so neither port may be asked to forward to a stream of the other.
TEST_P(ConnectionLayerTest, pipe_joins_it_to_a_plain_connection) {
  auto upstream = serve(test::echoing());
  const SocketAddress upstream_address = address();
  std::unique_ptr<Client> out;
  ConnectionHandle front;
  PipeReport report;
  ConnectionCallbacks callbacks = keeping();
  callbacks.on_message = [](Connection& connection, Buffer&) { connection.pause(); };
  auto proxy = serve_over_layer(std::move(callbacks));
  SealedPeer one = peer();
  ASSERT_TRUE(opened());
  out = std::make_unique<Client>(loop(), ConnectionCallbacks{.on_open = [&](Connection& back) {
                                   handle.run([&](Connection& here) {
                                     EXPECT_TRUE(pipe(here, back, {.splice = true}, [&](PipeReport done) {
                                       report = done;
                                       journal.add("piped");
                                     }));
                                   });
                                 }});
  ASSERT_TRUE(out->connect(upstream_address));
  std::string sent;
  for (int i = 0; i < 50; ++i) {
    const std::string piece = pattern(10'000 + static_cast<size_t>(i));
    one.send(piece);
    sent += piece;
    std::string heard;
    ASSERT_TRUE(wait_until([&] {
      heard.clear();
      for (const std::string& record : one.records()) heard += record;
      return heard.size() == sent.size();
    }));
    ASSERT_EQ(heard, sent);
  }
  one.raw.send(test::kEndMark);
  ASSERT_TRUE(noted("piped"));
  EXPECT_EQ(report.a_to_b_bytes, sent.size());
  EXPECT_EQ(report.b_to_a_bytes, sent.size());
  EXPECT_EQ(one.records().back(), "");
}

// The loop polls for a while before it sleeps. What it finds then includes what was reported before the wait.
TEST_P(ConnectionLayerTest, timers_set_by_what_is_told_before_a_wait_are_not_slept_past) {
  LoopOptions spinning = options();
  spinning.spin = {.mode = Spin::Mode::kBound, .bound = std::chrono::microseconds(50)};
  for (const bool sealed : {true, false}) {
    test::LoopThread thread(spinning);
    std::atomic<bool> fired = false;
    std::atomic<bool> open = false;
    ConnectionHandle here;
    auto set_timer = [&](Connection& connection) { connection.loop().after(milliseconds(5), [&] { fired = true; }); };
    ServerOptions over;
    over.connection.layer = sealed ? &layer : nullptr;
    auto server = std::make_unique<Server>(thread.loop(),
                                           ConnectionCallbacks{.on_open =
                                                                   [&](Connection& connection) {
                                                                     here = connection.handle();
                                                                     if (sealed) connection.pause();
                                                                     open = true;
                                                                   },
                                                               .on_message =
                                                                   [&](Connection& connection, Buffer& input) {
                                                                     input.clear();
                                                                     set_timer(connection);
                                                                   },
                                                               .on_writable = set_timer},
                                           over);
    RawPeer peer = RawPeer::connected(server->listen("127.0.0.1:0").value());
    if (sealed) peer.send(std::string(test::kSealHello) + test::sealed_text("held back"));
    const TimePoint give_up = monotonic_now() + seconds(10);
    while (!open && monotonic_now() < give_up) std::this_thread::yield();
    here.run([sealed](Connection& connection) {
      if (sealed) return connection.resume();
      connection.send("x");
      connection.report_drained();
    });
    while (!fired && monotonic_now() < give_up) std::this_thread::yield();
    EXPECT_TRUE(fired) << (sealed ? "by held back input" : "by on_writable");
    here = {};
    server.reset();
  }
}

// Three answers are sent in one turn, and the third callback ends all three connections: each sends its end mark.
TEST_P(ConnectionLayerTest, end_mark_leaves_behind_an_answer_of_the_same_turn) {
  std::unique_ptr<Server> server;
  int messages = 0;
  int opens = 0;
  server = serve_over_layer({.on_open = [&](Connection&) { ++opens; },
                             .on_message =
                                 [&](Connection& connection, Buffer& input) {
                                   input.clear();
                                   connection.send("answer");
                                   if (++messages == 3) server.reset();
                                 }});
  std::deque<SealedPeer> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(peer());
  ASSERT_TRUE(wait_until([&] { return opens == 3; }));
  ask([&] {
    for (SealedPeer& each : peers) each.send("hi");
  });
  ASSERT_TRUE(wait_until([&] { return messages == 3; }));
  size_t whole = 0;
  for (SealedPeer& each : peers) {
    ASSERT_TRUE(wait_until([&] { return each.ended() || each.raw.error() != 0; }));
    const Records records = each.records();
    if (records.empty())
      continue;  // the connection whose callback it was: its answer was not sealed yet, so it is dropped
    ++whole;
    EXPECT_EQ(records, (Records{"answer", ""}));
  }
  EXPECT_EQ(whole, 2u);
}

// The last handle may be destroyed on any thread, long after the server; the port is destroyed with the last
// connection.
TEST_P(ConnectionLayerTest, port_goes_with_the_last_connection) {
  auto server = serve_over_layer(keeping());
  SealedPeer one = peer();
  ASSERT_TRUE(opened());
  server.reset();
  ASSERT_TRUE(wait_until([&] { return one.ended(); }));
  destroy_loop();
  EXPECT_FALSE(handle.send("late"));
  handle = {};
}

PEAL_TEST_ON_EVERY_ENGINE(ConnectionLayerTest);

}  // namespace
}  // namespace peal
