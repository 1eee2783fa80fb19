// SPDX-License-Identifier: BSD-3-Clause
// A thread sent through a ConnectionHandle while the loop's mailbox was full. That send was dropped, but later sends
// went out: the peer read line 2000 right after line 999 on a living connection. Calls of close() and abort() were lost
// in this way too, and so were WebSocket messages and HTTP answers. Now a stream may end early, but it never lacks a
// part in the middle, and close() and abort() always take effect. A thread that sends faster than the peer reads can
// use a BoundedSender, which slows it down.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <peal/base/memory/memory_budget.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <peal/net/bounded_sender.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

// The loop of these tests has a mailbox that takes only 50 tasks, so that a test can fill it.
class RefusedSend : public test::NetTest {
 protected:
  RefusedSend() : small_({.engine = std::string(GetParam()), .post_limit = 50}) {
    test::ask(small_.loop(), [] {});
  }
  Loop& small() { return small_.loop(); }
  // Reads until the connection ends.
  static void read_all(RawPeer& peer) {
    while (peer.pump()) std::this_thread::yield();
  }

 private:
  test::LoopThread small_;
};

// Returns how many of the lines 0, 1, 2, ... the text has, or nullopt if a line is missing. A last line without its
// line feed is not counted.
std::optional<size_t> count_lines(std::string_view text) {
  size_t count = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    size_t number = 0;
    std::from_chars(text.data(), text.data() + end, number);
    if (number != count) return std::nullopt;
    ++count;
    text.remove_prefix(end + 1);
  }
  return count;
}

// A server with one connection, the handle of that connection, and the peer at its other end.
struct OneConnection {
  explicit OneConnection(Loop& loop)
      : server(loop, {.on_open = [this](Connection& connection) { opened.set_value(connection.handle()); },
                      .on_close = [this](Connection&, CloseReason reason) { ended.set_value(reason); }}),
        peer(RawPeer::connected(server.listen("127.0.0.1:0").value())),
        handle(opened.get_future().get()) {}

  std::promise<ConnectionHandle> opened;
  std::promise<CloseReason> ended;
  Server server;
  RawPeer peer;
  const ConnectionHandle handle;
};

// The loop keeps running while a thread sends as fast as it can, so only some of the sends are refused.
TEST_P(RefusedSend, ends_the_connection) {
  OneConnection one(small());
  size_t refused = 0;
  for (size_t number = 0; refused < 1000; ++number) refused += one.handle.send(fmt::format("{}\n", number)) ? 0 : 1;
  read_all(one.peer);
  EXPECT_EQ(one.ended.get_future().get(), CloseReason::kSendRefused);
  EXPECT_EQ(one.peer.error(), ECONNRESET);
  EXPECT_TRUE(count_lines(one.peer.received())) << one.peer.received();
  EXPECT_EQ(one.server.stats().lost_calls, refused);
}

TEST_P(RefusedSend, never_happens_to_close_and_abort) {
  for (const bool closes : {true, false}) {
    OneConnection one(small());
    {
      const test::Standstill standstill(small());
      EXPECT_TRUE(one.handle.send("before"));
      test::fill_mailbox(small());
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(closes ? one.handle.close() : one.handle.abort());
    }
    read_all(one.peer);
    EXPECT_EQ(one.peer.error(), closes ? 0 : ECONNRESET);
    EXPECT_EQ(one.peer.received(), closes ? "before" : one.peer.received());
    one.peer.close();
    EXPECT_EQ(one.ended.get_future().get(), closes ? CloseReason::kLocal : CloseReason::kAborted);
  }
}

TEST_P(RefusedSend, on_a_websocket_ends_the_websocket) {
  std::promise<WebSocketHandle> opened;
  std::promise<std::string> ended;
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&](WebSocket& socket) { opened.set_value(socket.handle()); };
  callbacks.on_close = [&](WebSocket&, uint16_t, std::string_view reason) { ended.set_value(std::string(reason)); };
  Router router;
  router.get("/", WebSocketEndpoint(std::move(callbacks)));
  HttpServer server(small(), std::move(router));
  RawPeer peer = RawPeer::connected(server.listen("127.0.0.1:0").value());
  peer.send(
      "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
  const WebSocketHandle handle = opened.get_future().get();
  {
    const test::Standstill standstill(small());
    test::fill_mailbox(small());
    EXPECT_FALSE(handle.send_text("lost"));
  }
  handle.send_text("after");
  read_all(peer);
  EXPECT_EQ(ended.get_future().get(), to_string(CloseReason::kSendRefused));
  EXPECT_EQ(peer.received().find("after"), std::string::npos);
}

TEST_P(RefusedSend, of_an_http_answer_does_not_leave_the_client_waiting) {
  std::promise<HttpExchangeHandle> asked;
  Router router;
  router.get("/", [&](HttpExchange& exchange) { asked.set_value(exchange.handle()); });
  HttpServer server(small(), std::move(router));
  RawPeer peer = RawPeer::connected(server.listen("127.0.0.1:0").value());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const HttpExchangeHandle handle = asked.get_future().get();
  {
    const test::Standstill standstill(small());
    test::fill_mailbox(small());
    EXPECT_FALSE(handle.respond(200, "text/plain", "lost"));
  }
  read_all(peer);
  EXPECT_EQ(peer.error(), ECONNRESET);
  EXPECT_EQ(peer.received(), "");
}

// The mailbox of a loop limits the number of tasks, not the bytes that they carry. So sends from other threads are also
// refused while the process is above the hard mark of its memory budget.
TEST_P(RefusedSend, happens_above_the_hard_memory_mark) {
  OneConnection one(small());
  const MemoryMarks marks = MemoryBudget::marks();
  {
    const test::Standstill standstill(small());
    EXPECT_TRUE(one.handle.send("taken"));
    MemoryBudget::set({.soft_bytes = 1, .hard_bytes = 2});
    EXPECT_FALSE(one.handle.send("refused"));
    MemoryBudget::set(marks);
    one.handle.send("too late");
  }
  EXPECT_EQ(one.ended.get_future().get(), CloseReason::kSendRefused);
  read_all(one.peer);
  EXPECT_EQ(one.peer.error(), ECONNRESET);
}

TEST_P(RefusedSend, does_not_happen_to_a_bounded_sender) {
  constexpr size_t kMost = 100'000;
  OneConnection one(small());
  std::atomic<size_t> most_seen = 0;
  std::jthread worker([&, sender = BoundedSender(one.handle, kMost)]() mutable {
    for (size_t number = 0; sender.send(fmt::format("{}\n", number)); ++number) {
      most_seen = std::max(most_seen.load(), sender.bytes_on_their_way());
    }
    EXPECT_TRUE(sender.ended());
    EXPECT_FALSE(sender.try_send("more"));
  });
  while (one.peer.received().size() < 3'000'000) ASSERT_TRUE(one.peer.pump());
  EXPECT_TRUE(count_lines(one.peer.received()));
  // The peer does not read now: the sender fills up to its limit and waits. When the peer resets, the sender learns
  // that the connection has ended.
  ASSERT_TRUE(wait_until([&] { return most_seen > kMost / 2; }));
  one.peer.reset();
  worker.join();
  EXPECT_EQ(one.ended.get_future().get(), CloseReason::kReset);
  EXPECT_LE(most_seen, kMost);
}

PEAL_TEST_ON_EVERY_ENGINE(RefusedSend);

}  // namespace
}  // namespace peal
