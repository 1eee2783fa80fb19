// SPDX-License-Identifier: BSD-3-Clause
// If sending meets a reset, the connection stays open to show what the peer had sent before. A server that stopped
// reading for good at that moment, because of backpressure, never learnt of the end: on_writable was not called, and no
// deadline was left. The connection, its coroutine and its fd stayed for ever, and any remote client could cause this.
// Now a task that waits to write is resumed with the error at once, and a connection that nobody reads any more ends.

#include <atomic>
#include <deque>
#include <string>

#include <gmock/gmock.h>

#include <peal/base/memory/memory_budget.h>
#include <peal/coro/co_server.h>
#include <peal/http/server/http_server.h>
#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

class FailedOutput : public test::NetTest {
 protected:
  // Sends `flood` until is_blocked() says that the server has stopped reading, and then resets.
  void flood_and_reset(RawPeer& peer, const std::string& flood, const std::function<bool()>& is_blocked) {
    ASSERT_TRUE(wait_until([&] {
      while (peer.try_send(flood) > 0) {
      }
      return is_blocked();
    }));
    ask([&] { peer.reset(); });
  }
};

// How many coroutines of a server have begun and ended, and the last error.
struct Tasks {
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::error_code error;
};

Task<> counted_echo(Tasks& tasks, Stream stream) {
  ++tasks.begun;
  for (;;) {
    auto input = co_await stream.read();
    if (!input || input->empty()) break;
    if (auto written = co_await stream.write(std::move(*input)); !written) {
      tasks.error = written.error();
      break;
    }
  }
  ++tasks.ended;
}

TEST_P(FailedOutput, ends_an_echo_coroutine) {
  Tasks tasks;
  CoServer server(loop(), [&](Stream stream) { return counted_echo(tasks, std::move(stream)); });
  const SocketAddress target = server.listen("127.0.0.1:0").value();
  for (int round = 1; round <= 5; ++round) {
    RawPeer peer = RawPeer::connected(target, 16'384);
    size_t received = 0;
    ASSERT_NO_FATAL_FAILURE(flood_and_reset(peer, std::string(100'000, 'x'), [&] {
      for (const ConnectionsView& view : server.server().views()) {
        for (const ConnectionFacts& facts : view.list(1)) {
          const bool stands = facts.queued_bytes > 256 * 1024 && facts.received_bytes == received;
          received = facts.received_bytes;
          if (stands) return true;
        }
      }
      return false;
    }));
    ASSERT_TRUE(wait_until([&] { return tasks.ended == round && server.server().connections() == 0; })) << round;
    EXPECT_EQ(tasks.error, std::errc::connection_reset);
  }
}

// Every second client has sent its next request already, so the server has paused its connection.
TEST_P(FailedOutput, ends_a_handler_that_waits_to_write) {
  Tasks tasks;
  Router router;
  router.get("/", [&](HttpExchange& exchange) -> Task<> {
    ++tasks.begun;
    exchange.begin(200, "text/plain");
    for (;;) {
      exchange.write(std::string(100'000, 'x'));
      if (auto writable = co_await exchange.writable(); !writable) {
        tasks.error = writable.error();
        break;
      }
    }
    ++tasks.ended;
  });
  HttpServer server(loop(), std::move(router));
  const SocketAddress target = server.listen("127.0.0.1:0").value();
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  for (int round = 1; round <= 5; ++round) {
    RawPeer peer = RawPeer::connected(target, 16'384);
    peer.send(round % 2 == 0 ? request : request + request);
    uint64_t sent = 0;
    ASSERT_NO_FATAL_FAILURE(flood_and_reset(peer, "", [&] {
      const uint64_t before = std::exchange(sent, loop().engine().stats().sent_bytes);
      return tasks.begun == round && sent == before && sent > 0;
    }));
    ASSERT_TRUE(wait_until([&] { return tasks.ended == round && server.connections() == 0; })) << round;
    EXPECT_EQ(tasks.error, std::errc::operation_canceled);
  }
}

TEST_P(FailedOutput, calls_on_writable_and_ends_a_connection_that_pauses_then) {
  bool pauses = false;
  ConnectionCallbacks callbacks = journal.callbacks();
  // The answer to a message is so much output that the connection stops receiving.
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    journal.add("message " + std::to_string(input.size()));
    input.clear();
    while (connection.can_send() && connection.queued_bytes() < 20'000'000)
      connection.send(std::string(1'000'000, 'x'));
  };
  callbacks.on_writable = [&](Connection& connection) {
    journal.add(connection.can_send() ? "writable" : "failed");
    EXPECT_FALSE(connection.send("more"));
    if (pauses) connection.pause();
  };
  auto server = serve(std::move(callbacks));
  for (const bool now : {false, true}) {
    ask([&] { pauses = now; });
    RawPeer peer = connect_peer(16'384);
    peer.send("question");
    ASSERT_TRUE(wait_until([&] { return journal.count("message 8") == (now ? 2 : 1); }));
    peer.send("last words");
    peer.reset();
    ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
  }
  EXPECT_THAT(journal.lines(),
              testing::ElementsAre("open", "message 8", "failed", "message 10", "close: reset by the peer", "open",
                                   "message 8", "failed", "close: reset by the peer"));
}

PEAL_TEST_ON_EVERY_ENGINE(FailedOutput);

class SimFailedOutput : public test::SimTest {};

TEST_F(SimFailedOutput, leaves_no_coroutine_behind) {
  SimOptions options = rough();
  options.reset = 0.01;
  options.receive_buffer_bytes = 512 * 1024;  // at the reset, more input is unread than the coroutine reads ahead
  on_seeds(300, options, [](test::SimPair& pair) {
    constexpr int kClients = 5;
    Tasks tasks;
    CoServer server(*pair.here, [&](Stream stream) { return counted_echo(tasks, std::move(stream)); });
    const SocketAddress target = pair.listen(server);
    int gone = 0;
    std::deque<Client> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back(*pair.there,
                           ConnectionCallbacks{.on_open =
                                                   [](Connection& connection) {
                                                     connection.pause();
                                                     connection.send(std::string(1'000'000, 'x'));
                                                     connection.loop().after(
                                                         std::chrono::seconds(5),
                                                         [handle = connection.handle()] { handle.abort(); });
                                                   },
                                               .on_close = [&](Connection&, CloseReason) { ++gone; }});
      ASSERT_TRUE(clients.back().connect(target));
    }
    ASSERT_TRUE(pair.run_until([&] { return gone == kClients && server.server().connections() == 0; }));
    EXPECT_EQ(tasks.begun, tasks.ended);
  });
}

// A connection that the memory budget has stopped is not read to its end either, so it must end at once.
TEST_F(SimFailedOutput, ends_a_connection_stopped_by_the_memory_budget) {
  constexpr size_t kMebibyte = 1024 * 1024;
  SimOptions options = rough();
  options.send_buffer_bytes = options.receive_buffer_bytes = 8 * kMebibyte;
  on_seeds(20, options, [](test::SimPair& pair) {
    uint64_t received = 0;
    CloseReason reason = CloseReason::kLocal;
    ConnectionHandle paused;
    ConnectionHandle sender;
    Server server(*pair.here, {.on_open =
                                   [&](Connection& connection) {
                                     connection.pause();
                                     paused = connection.handle();
                                   },
                               .on_message = [](Connection&, Buffer&) {},  // leaves all input unconsumed
                               .on_close =
                                   [&](Connection& connection, CloseReason why) {
                                     received = connection.received_bytes();
                                     reason = why;
                                   }});
    Client client(*pair.there, {.on_open = [&](Connection& connection) {
      sender = connection.handle();
      for (int i = 0; i < 32; ++i) connection.send(std::string(kMebibyte / 8, 'x'));
    }});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    ASSERT_TRUE(pair.run_until([&] { return paused && sender; }));
    pair.run_for(std::chrono::seconds(1));
    EXPECT_TRUE(sender.abort());
    pair.run_for(std::chrono::seconds(1));
    BlockPool::here().trim();
    const uint64_t held = MemoryBudget::held_bytes();
    MemoryBudget::set({.soft_bytes = held + kMebibyte, .hard_bytes = held + 64 * kMebibyte});
    EXPECT_TRUE(paused.run([](Connection& connection) {
      connection.resume();
      connection.send("fails");
    }));
    EXPECT_TRUE(pair.run_until([&] { return server.connections() == 0; }));
    EXPECT_EQ(reason, CloseReason::kReset);
    EXPECT_LT(received, 4 * kMebibyte) << "the memory budget did not stop the connection";
    MemoryBudget::set(MemoryBudget::default_marks());
  });
}

}  // namespace
}  // namespace peal
