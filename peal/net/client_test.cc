// SPDX-License-Identifier: BSD-3-Clause
// The behaviour of a client until it is connected, and after the connection is lost.
#include <peal/net/client.h>

#include <sys/socket.h>

#include <gmock/gmock.h>

#include <peal/engine/listening_socket.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

class ClientTest : public test::NetTest {
 protected:
  // Small delays; one hour stands for "never in this test".
  static ClientOptions quick(unsigned attempts, bool reconnect = false) {
    return {.connect_timeout = std::chrono::hours(1),
            .retry = {.attempts = attempts,
                      .first_delay = milliseconds(2),
                      .longest_delay = milliseconds(10),
                      .reconnect = reconnect}};
  }
  Client::ConnectFailed failing() {
    return [this](std::error_code error, Duration next) {
      EXPECT_TRUE(next == Client::kNoRetry || next <= milliseconds(10)) << next.count();
      journal.add(fmt::format("{}, {}", error.message(), next == Client::kNoRetry ? "no retry" : "retry"));
    };
  }
  // Returns a port of this machine on which nobody listens while the test runs.
  SocketAddress refused_address() {
    holder_.emplace();
    SocketAddress any = EngineRig::loopback();
    EXPECT_EQ(::bind(holder_->fd(), any.data(), any.size()), 0);
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    EXPECT_EQ(::getsockname(holder_->fd(), reinterpret_cast<sockaddr*>(&storage), &size), 0);
    return SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&storage), size);
  }
  // Turns `refused_address()` into a listener.
  void listen_there() { EXPECT_EQ(::listen(holder_->fd(), 16), 0); }

  void TearDown() override {
    holder_.reset();
    NetTest::TearDown();
  }

 private:
  std::optional<RawPeer> holder_;
};

const std::string kRefused = "Connection refused";

TEST_P(ClientTest, talks_to_a_server) {
  auto server = serve(test::echoing());
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) {
    EXPECT_EQ(connection.peer_address().value(), address());
    connection.send("hello");
  };
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    journal.add(input.to_string());
    connection.close();
  };
  Client client(loop(), std::move(callbacks));
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(noted("close: closed here"));
  EXPECT_THAT(journal.lines(), ElementsAre("hello", "close: closed here"));
  EXPECT_EQ(client.stats().opened, 1u);
  EXPECT_EQ(client.stats().closed, 1u);
}

TEST_P(ClientTest, refused_once_is_told_and_not_retried) {
  Client client(loop(), journal.callbacks(), {}, failing());
  ASSERT_TRUE(client.connect(refused_address()));
  ASSERT_TRUE(noted(kRefused + ", no retry"));
  EXPECT_THAT(journal.lines(), ElementsAre(kRefused + ", no retry"));
  EXPECT_EQ(client.stats().connect_failed, 1u);
  EXPECT_EQ(client.stats().opened, 0u);
}

TEST_P(ClientTest, retries_until_the_attempts_are_used_up_and_may_start_again) {
  Client client(loop(), journal.callbacks(), quick(3), failing());
  SocketAddress nobody = refused_address();
  for (size_t round = 1; round <= 2; ++round) {
    ASSERT_TRUE(client.connect(nobody));
    ASSERT_TRUE(noted(kRefused + ", no retry", round));
    EXPECT_EQ(journal.count(kRefused + ", retry"), 2 * round);
  }
  EXPECT_EQ(client.stats().connect_failed, 6u);
}

TEST_P(ClientTest, retries_until_somebody_listens) {
  Client client(loop(), journal.callbacks(), quick(0), failing());
  ASSERT_TRUE(client.connect(refused_address()));
  ASSERT_TRUE(wait_until([&] { return journal.count(kRefused + ", retry") >= 5; }));
  listen_there();
  ASSERT_TRUE(noted("open"));
}

TEST_P(ClientTest, connect_that_is_never_answered_times_out) {
  // A unix listener with a full backlog refuses at once; a TCP listener drops the SYN.
  const Fd listener = open_listening_socket(EngineRig::loopback(), {.backlog = 0}).value();
  const SocketAddress full = listening_address(listener.get()).value();
  RawPeer fills_the_backlog = RawPeer::connected(full);
  ClientOptions options = quick(2);
  options.connect_timeout = milliseconds(30);
  Client client(loop(), journal.callbacks(), options, failing());
  ASSERT_TRUE(client.connect(full));
  ASSERT_TRUE(noted(errno_code(ETIMEDOUT).message() + ", no retry"));
  EXPECT_THAT(journal.lines(),
              ElementsAre(errno_code(ETIMEDOUT).message() + ", retry", errno_code(ETIMEDOUT).message() + ", no retry"));
}

TEST_P(ClientTest, text_that_is_no_address) {
  Client client(loop(), journal.callbacks());
  EXPECT_EQ(test::error_of(client.connect("localhost")), make_error_code(Trouble::kNoPort));
  EXPECT_EQ(test::error_of(client.connect("localhost:http")), make_error_code(Trouble::kBadPort));
  for (const char* text : {"127.0.0.300:80", "a b:80", "a..b:80"}) {
    EXPECT_EQ(test::error_of(client.connect(text)), make_error_code(Trouble::kBadAddress)) << text;
  }
  EXPECT_EQ(client.connect(refused_address()).has_value(), true) << "a bad address must claim nothing";
}

TEST_P(ClientTest, unix_path_that_is_not_there) {
  Client client(loop(), journal.callbacks(), {}, failing());
  ASSERT_TRUE(client.connect("unix:/nowhere/at/all/socket"));
  ASSERT_TRUE(noted(errno_code(ENOENT).message() + ", no retry"));
}

TEST_P(ClientTest, second_start_is_refused_until_stopped) {
  auto server = serve(test::echoing());
  Client client(loop(), journal.callbacks());
  ASSERT_TRUE(client.connect(address()));
  EXPECT_EQ(test::error_of(client.connect(address())), errno_code(EALREADY));
  ASSERT_TRUE(noted("open"));
  EXPECT_EQ(test::error_of(client.connect(address())), errno_code(EALREADY));
  client.stop();
  EXPECT_TRUE(client.connect(address()));
  EXPECT_EQ(test::error_of(client.connect(address())), errno_code(EALREADY));
  ASSERT_TRUE(noted("open", 2));
  ASSERT_TRUE(noted("close: closed here"));
  EXPECT_EQ(test::error_of(client.connect(address())), errno_code(EALREADY)) << "the old one's end counts not";
}

TEST_P(ClientTest, closed_connection_lets_start_again) {
  auto server = serve(test::echoing());
  ConnectionHandle handle;
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) {
    handle = connection.handle();
    journal.add("open");
  };
  Client client(loop(), std::move(callbacks), quick(1, true));
  for (size_t round = 1; round <= 2; ++round) {
    ASSERT_TRUE(client.connect(address()));
    ASSERT_TRUE(noted("open", round));
    ask([&] { handle.close(); });
    ASSERT_TRUE(noted("close: closed here", round));
  }
  ask([&] { handle = {}; });
}

TEST_P(ClientTest, reconnects_after_a_loss_as_often_as_it_comes) {
  auto server = serve({.on_message = [](Connection& connection, Buffer&) { connection.abort(); }});
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) {
    journal.add("open");
    connection.send("reset me");
  };
  Client client(loop(), std::move(callbacks), quick(1, true), failing());
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return journal.count("open") >= 4; }));
  client.stop();
  ask([] {});
  size_t opens = journal.count("open");
  for (int turn = 0; turn < 3; ++turn) ask([] {});
  ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 30; }));
  EXPECT_EQ(journal.count("open"), opens);
}

TEST_P(ClientTest, lost_server_is_found_again) {
  auto server = serve(test::echoing());
  const SocketAddress there = address();
  Client client(loop(), journal.callbacks(), quick(0, true), failing());
  ASSERT_TRUE(client.connect(there));
  ASSERT_TRUE(noted("open"));
  server.reset();
  ASSERT_TRUE(wait_until([&] { return journal.count(kRefused + ", retry") >= 2; }));
  Server again(loop(), test::echoing());
  ASSERT_TRUE(again.listen(there));
  ASSERT_TRUE(noted("open", 2));
}

TEST_P(ClientTest, no_reconnect_after_an_own_close_that_the_peer_met_with_a_reset) {
  auto server = serve({.on_message = [](Connection& connection, Buffer&) { connection.abort(); }});
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) {
    journal.add("open");
    connection.send("reset me");
    connection.close();
  };
  Client client(loop(), std::move(callbacks), quick(0, true), failing());
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 2; }));
  ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 30; }));
  EXPECT_EQ(journal.count("open"), 1u);
  EXPECT_TRUE(client.connect(address())) << "it gave up, so it may be started";
}

TEST_P(ClientTest, stop_while_connecting_tells_nothing_more) {
  SocketAddress nobody = refused_address();
  Client client(loop(), journal.callbacks(), quick(0), failing());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.connect(nobody));
    client.stop();
  }
  ask([] {});
  size_t told_before = journal.lines().size();
  ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 30; }));
  EXPECT_EQ(journal.lines().size(), told_before);
  EXPECT_EQ(journal.count("open"), 0u);
}

TEST_P(ClientTest, stop_between_attempts) {
  SocketAddress nobody = refused_address();
  Client* self = nullptr;
  Client client(loop(), journal.callbacks(), {.retry = {.attempts = 0, .first_delay = milliseconds(50)}},
                [&](std::error_code, Duration) {
                  journal.add("failed");
                  // In the same turn, because this thread might be scheduled only after the delay is over.
                  loop().post([&] {
                    self->stop();
                    journal.add("stopped");
                  });
                });
  self = &client;
  ASSERT_TRUE(client.connect(nobody));
  ASSERT_TRUE(noted("stopped"));
  ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 80; }));
  EXPECT_THAT(journal.lines(), ElementsAre("failed", "stopped"));
}

TEST_P(ClientTest, start_from_inside_the_last_failure) {
  SocketAddress nobody = refused_address();
  Client* self = nullptr;
  int failures = 0;
  Client client(loop(), {}, {}, [&](std::error_code, Duration next) {
    EXPECT_EQ(next, Client::kNoRetry);
    EXPECT_TRUE(++failures == 3 || self->connect(nobody));
  });
  self = &client;
  ASSERT_TRUE(client.connect(nobody));
  ASSERT_TRUE(wait_until([&] { return failures == 3; }));
}

TEST_P(ClientTest, from_a_source_address) {
  auto server = serve(test::echoing());
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) {
    journal.add(connection.local_address().value().to_string().substr(0, 10));
  };
  Client client(loop(), std::move(callbacks), {.connect = {.source = address_of("127.0.0.9:0")}});
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(noted("127.0.0.9:"));
}

TEST_P(ClientTest, connect_after_the_loops_end_is_an_error) {
  Client client(loop(), journal.callbacks());
  end_loop();
  EXPECT_EQ(test::error_of(client.connect("127.0.0.1:1")), make_error_code(Trouble::kLoopStopped));
  EXPECT_EQ(test::error_of(client.connect("127.0.0.1:1")), make_error_code(Trouble::kLoopStopped));
  client.stop();
  EXPECT_EQ(client.stats().opened, 0u);
}

TEST_P(ClientTest, loop_that_ends_while_it_reconnects_tells_nothing_strange) {
  auto server = serve(test::echoing());
  Client client(loop(), journal.callbacks(), quick(0, true), failing());
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(noted("open"));
  end_loop();
  EXPECT_EQ(journal.lines().size(), 2u);
  EXPECT_EQ(journal.lines().back(), "close: the loop stopped");
}

PEAL_TEST_ON_EVERY_PORT(ClientTest);

}  // namespace
}  // namespace peal
