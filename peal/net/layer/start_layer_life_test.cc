// SPDX-License-Identifier: BSD-3-Clause
// State of a connection that is kept when its layer starts: deadlines, its context and peer, files and input, the
// flight recorder. And from which of its callbacks the layer may be started.
#include <string>

#include <gmock/gmock.h>

#include <peal/net/bounded_sender.h>
#include <peal/net/pipe.h>
#include <tests/support/file_of.h>
#include <tests/support/net_rig.h>
#include <tests/support/sealed/sealed_peer.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::SealedPeer;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kHello(test::kSealHello);

class StartLayerLifeTest : public test::OverLayerTest {
 protected:
  static constexpr Duration kNotInThisTest = std::chrono::hours(1);

  // Returns callbacks that start the layer as soon as the connection is open, and note what comes.
  ConnectionCallbacks starting() {
    ConnectionCallbacks callbacks = noting();
    callbacks.on_open = [this](Connection& connection) {
      handle = connection.handle();
      EXPECT_TRUE(connection.start_layer());
    };
    return callbacks;
  }
  ConnectionCallbacks noting() {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) { handle = connection.handle(); };
    callbacks.on_message = [this](Connection&, Buffer& input) {
      journal.add((secured ? "sealed " : "clear ") + input.to_string());
      input.clear();
    };
    callbacks.on_secured = [this](Connection&) {
      secured = true;
      journal.add("secured");
    };
    callbacks.on_close = [this](Connection&, CloseReason reason) { journal.add(std::string(to_string(reason))); };
    return callbacks;
  }
  std::unique_ptr<Server> serve_later(ConnectionCallbacks callbacks, ConnectionOptions connection = {}) {
    connection.handshake_timeout = kNotInThisTest;
    return OverLayerTest::serve_later(std::move(callbacks), {.connection = connection});
  }
  // Waits until the loop's clock has advanced by so many milliseconds, one at a time.
  void let_pass(int milliseconds_of_it) {
    ASSERT_TRUE(wait_until([left = milliseconds_of_it]() mutable { return --left < 0; }));
  }
  // Expects that a deadline of a few milliseconds ends the connection with this reason, but only after the layer is
  // ready.
  void expect_to_wait_for_the_layer(ConnectionCallbacks callbacks, ConnectionOptions deadline,
                                    std::string_view reason) {
    auto server = serve_later(std::move(callbacks), deadline);
    RawPeer peer = connect_peer();
    ASSERT_TRUE(hears_all(peer, kHello));
    let_pass(20);
    EXPECT_THAT(journal.lines(), IsEmpty());
    peer.send(kHello);
    ASSERT_TRUE(noted(reason));
    EXPECT_THAT(journal.lines(), ElementsAre("secured", reason));
  }

  bool secured = false;
};

// Until the layer is ready handshake_timeout is the only deadline. Then all the others start.
TEST_P(StartLayerLifeTest, its_other_deadlines_wait_for_the_layer) {
  expect_to_wait_for_the_layer(starting(), {.idle_timeout = milliseconds(5)}, "idle for too long");
}

TEST_P(StartLayerLifeTest, peer_that_is_to_send_something_need_not_before_the_layer_is_there) {
  ConnectionCallbacks callbacks = starting();
  callbacks.on_open = [this](Connection& connection) {
    handle = connection.handle();
    connection.expect_input(true);
    EXPECT_TRUE(connection.start_layer());
  };
  expect_to_wait_for_the_layer(std::move(callbacks), {.min_read_bytes = 1, .read_window = milliseconds(5)},
                               "the peer sent too slowly");
}

TEST_P(StartLayerLifeTest, peer_that_does_not_read_is_cut_off_over_the_layer) {
  ConnectionCallbacks callbacks = starting();
  callbacks.on_secured = [this](Connection& connection) {
    journal.add("secured");
    connection.send(std::string(9'000'000, 'x'));
  };
  auto server = serve_later(std::move(callbacks), {.write_window = milliseconds(5)});
  RawPeer peer = connect_peer(4096);
  peer.send(kHello);
  ASSERT_TRUE(noted("the peer read too slowly"));
}

TEST_P(StartLayerLifeTest, context_and_peer_stay) {
  std::string before;
  std::string at_the_end;
  ConnectionCallbacks callbacks = starting();
  callbacks.on_open = [&](Connection& connection) {
    connection.emplace_context<std::string>("its own");
    before = connection.peer_address().value().to_string();
    EXPECT_TRUE(connection.start_layer());
  };
  callbacks.on_secured = [&](Connection& connection) {
    EXPECT_EQ(connection.context<std::string>(), "its own");
    EXPECT_EQ(connection.peer_address().value().to_string(), before);
    EXPECT_EQ(connection.local_address().value(), address());
    journal.add("secured");
  };
  callbacks.on_close = [&](Connection& connection, CloseReason) {
    EXPECT_EQ(connection.context<std::string>(), "its own");
    at_the_end = connection.peer_address().value_or(SocketAddress()).to_string();
    journal.add("closed");
  };
  auto server = serve_later(std::move(callbacks), {.remember_peer = true});
  for (const bool fails : {false, true}) {
    RawPeer peer = connect_peer();
    ASSERT_TRUE(hears_all(peer, kHello));
    peer.send(fails ? "evil" : kHello);
    ASSERT_TRUE(fails || noted("secured"));
    peer.reset();
    ASSERT_TRUE(wait_until([&] { return journal.count("closed") == (fails ? 2u : 1u); }));
    EXPECT_EQ(at_the_end, before);
  }
}

TEST_P(StartLayerLifeTest, files_leave_in_the_clear_and_count_as_sent) {
  const std::string bytes = pattern(1'000'000);
  ConnectionCallbacks callbacks = starting();
  callbacks.on_open = [&](Connection& connection) {
    connection.send("file:");
    connection.send_file(test::file_of(bytes));
    EXPECT_TRUE(connection.start_layer());
    connection.send_file(test::file_of("not this"));
  };
  callbacks.on_secured = [&](Connection& connection) {
    EXPECT_EQ(connection.sent_bytes(), bytes.size() + 5);
    connection.send_file(test::file_of("sealed"));
  };
  auto server = serve_later(std::move(callbacks));
  RawPeer peer = connect_peer();
  ASSERT_TRUE(hears_all(peer, "file:" + bytes + kHello));
  SealedPeer sealed(std::move(peer), bytes.size() + 5);
  ASSERT_TRUE(wait_until([&] { return sealed.records() == std::vector<std::string>{"sealed"}; }));
}

// Output is queued, so the layer does not have the input yet. It counts as the connection's memory all the same.
TEST_P(StartLayerLifeTest, input_for_the_layer_is_shown_as_kept) {
  ConnectionCallbacks callbacks = starting();
  callbacks.on_message = [this](Connection& connection, Buffer& input) {
    connection.send(std::string(9'000'000, 'x'));
    input.consume(1);
    EXPECT_TRUE(connection.start_layer({}, Buffer("ab")));
    journal.add("starts");
  };
  callbacks.on_open = [this](Connection& connection) { handle = connection.handle(); };
  auto server = serve_later(std::move(callbacks));
  RawPeer peer = connect_peer(4096);
  peer.send("1234");
  ASSERT_TRUE(noted("starts"));
  const std::vector<ConnectionFacts> all = ask([&] { return server->views().front().list(2); });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].state, "handshaking");
  EXPECT_EQ(all[0].kept_bytes, 5u);
  EXPECT_EQ(all[0].received_bytes, 4u);
  EXPECT_GT(all[0].queued_bytes, 0u);
}

TEST_P(StartLayerLifeTest, flight_recorder_hears_of_it) {
  ask([&] { loop().enable_flight_recorder(64); });
  auto server = serve_later(starting());
  SealedPeer peer(connect_peer());
  ASSERT_TRUE(noted("secured"));
  peer.send("hello");
  ASSERT_TRUE(noted("sealed hello"));
  std::vector<FlightKind> kinds;
  ask([&] {
    for (const FlightEvent& event : loop().flight_recorder()->last({}, 64)) kinds.push_back(event.kind);
  });
  EXPECT_THAT(kinds,
              ElementsAre(FlightKind::kOpened, FlightKind::kStartsLayer, FlightKind::kOpened, FlightKind::kReceived));
}

TEST_P(StartLayerLifeTest, refused_it_takes_nothing) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_open = [this](Connection& connection) {
    handle = connection.handle();
    connection.shutdown_send();
    Buffer unread("unread");
    EXPECT_FALSE(connection.start_layer({}, std::move(unread)));
    EXPECT_EQ(unread.to_string(), "unread");  // NOLINT(bugprone-use-after-move): the state after the move is tested
  };
  auto server = serve_later(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.send("one");
  ASSERT_TRUE(noted("clear one"));
  EXPECT_TRUE(ask([&] { return handle.run([](Connection& connection) { EXPECT_TRUE(connection.is_open()); }); }));
}

// While its layer starts, the connection is not open, so it ends at once.
TEST_P(StartLayerLifeTest, peer_is_refused_meanwhile) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_open = [](Connection& connection) {
    EXPECT_TRUE(connection.start_layer());
    connection.refuse(Trouble::kBadMessage);
  };
  auto server = serve_later(std::move(callbacks));
  RawPeer peer = connect_peer();
  ASSERT_TRUE(noted("the peer sent a message that breaks the protocol"));
  EXPECT_EQ(ask([&] { return server->stats().bad_messages; }), 1u);
}

// Input that was kept during a pause is shown again from the loop. What the callback leaves then goes to the layer.
TEST_P(StartLayerLifeTest, from_a_message_that_is_shown_again) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_message = [this](Connection& connection, Buffer& input) {
    if (secured) return journal.add("sealed " + std::exchange(input, {}).to_string());
    journal.add("clear");
    if (journal.count("clear") == 1) return connection.pause();
    EXPECT_EQ(input.take(6).to_string(), "start\n");
    EXPECT_TRUE(connection.start_layer());
  };
  auto server = serve_later(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.send("start\n" + kHello + test::sealed_text("two"));
  ASSERT_TRUE(noted("clear"));
  ask([&] { handle.run([](Connection& connection) { connection.resume(); }); });
  ASSERT_TRUE(noted("sealed two"));
  EXPECT_THAT(journal.lines(), ElementsAre("clear", "clear", "secured", "sealed two"));
}

TEST_P(StartLayerLifeTest, from_on_writable_and_from_the_peers_end) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_open = [](Connection& connection) {
    connection.send("go\n");
    connection.report_drained();
  };
  callbacks.on_writable = [this](Connection& connection) {
    journal.add("writable");
    EXPECT_TRUE(secured || connection.start_layer());
  };
  auto server = serve_later(std::move(callbacks));
  RawPeer peer = connect_peer();
  ASSERT_TRUE(hears_all(peer, "go\n" + kHello));
  SealedPeer sealed(std::move(peer));
  sealed.send("two");
  ASSERT_TRUE(noted("sealed two"));
  EXPECT_THAT(journal.lines(), ElementsAre("writable", "secured", "sealed two"));
  secured = false;
  ConnectionCallbacks at_its_end = noting();
  at_its_end.on_peer_end = [](Connection& connection) { EXPECT_TRUE(connection.start_layer()); };
  auto other = serve_later(std::move(at_its_end));
  RawPeer ends = connect_peer();
  ends.fin();
  ASSERT_TRUE(noted("the peer ended too early"));
  EXPECT_EQ(other->stats().handshakes_failed, 1u);
}

TEST_P(StartLayerLifeTest, is_not_piped_and_takes_nothing_from_other_threads_meanwhile) {
  auto server = serve_later(starting());
  RawPeer first = connect_peer();
  ASSERT_TRUE(hears_all(first, kHello));
  const ConnectionHandle waits = ask([&] { return handle; });
  RawPeer second = connect_peer();
  ASSERT_TRUE(hears_all(second, kHello));
  ask([&] {
    waits.run([&](Connection& a) {
      handle.run([&](Connection& b) { EXPECT_EQ(test::error_of(pipe(a, b, {}, {})), errno_code(ENOTCONN)); });
      a.pause();
      a.shutdown_send();
      EXPECT_FALSE(a.send("dropped"));
      EXPECT_EQ(a.sent_bytes(), 0u);
    });
  });
  EXPECT_TRUE(waits.send("dropped"));
  BoundedSender sender(waits, 100);
  sender.try_send("dropped");
  EXPECT_TRUE(wait_until([&] { return sender.ended(); }));
  SealedPeer sealed(std::move(first));
  sealed.send("one");
  ASSERT_TRUE(noted("sealed one"));
  EXPECT_TRUE(waits.send("taken"));
  ASSERT_TRUE(wait_until([&] { return sealed.records() == std::vector<std::string>{"taken"}; }));
}

// When the loop ends, output that the kernel had not taken is reported as lost, and on_close is called once.
TEST_P(StartLayerLifeTest, loop_may_end_while_output_waits) {
  ConnectionCallbacks callbacks = starting();
  callbacks.on_open = [this](Connection& connection) {
    connection.send(std::string(9'000'000, 'x'));
    EXPECT_TRUE(connection.start_layer());
    journal.add("waits");
  };
  auto server = serve_later(std::move(callbacks));
  RawPeer peer = connect_peer(4096);
  ASSERT_TRUE(noted("waits"));
  ask([] {});
  end_loop();
  EXPECT_THAT(journal.lines(), ElementsAre("waits", "the loop stopped"));
}

PEAL_TEST_ON_EVERY_ENGINE(StartLayerLifeTest);

}  // namespace
}  // namespace peal
