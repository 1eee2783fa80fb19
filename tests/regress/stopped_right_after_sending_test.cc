// SPDX-License-Identifier: BSD-3-Clause
// A callback called `connection.send(answer); loop.stop();`, and the answer was lost: six times of six, over TCP and
// HTTP. The engine sent queued output only before it waited again. But stop() takes effect after the turn, so no other
// wait came, and the end of the engine closed the connections with unsent queues.
//
// Now output that is queued before a loop's end is sent as far as the kernel has room for it, and then the FIN. Bytes
// for which there is no room are counted: by the engine, in a log line, and in the report of a drain in progress.
//
// Each test uses one thread: the peers send their requests before the loop runs, and read when it has ended.
#include <poll.h>
#include <sys/socket.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/log.h>
#include <peal/engine/listening_socket.h>
#include <peal/net/client.h>
#include <tests/support/file_of.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

class StoppedRightAfterSending : public test::LoopEngineTest {
 protected:
  using Answer = std::function<void(Connection&)>;

  static constexpr int kRoomBytes = 256 * 1024;  // the kernel's room for bytes that nobody has read yet
  static constexpr size_t kSeveralBlocks = 60'000;
  static constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

  void SetUp() override {
    LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    set_log_sink([](const LogRecord&) {});
    loop_ = test::make_loop(options()).value();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    peers_.clear();
    http_.reset();
    server_.reset();
    loop_.reset();
    set_log_sink({});
    expect_no_fd_left();
  }

  Loop& loop() { return *loop_; }
  Server& server() { return *server_; }
  std::deque<RawPeer>& peers() { return peers_; }
  void run() { EXPECT_TRUE(loop_->run()); }
  // Starts a server that calls `answer` with each connection that has sent a request.
  void serve(Answer answer) {
    auto on_message = [answer = std::move(answer)](Connection& connection, Buffer& input) {
      input.clear();
      answer(connection);
    };
    server_ = std::make_unique<Server>(loop(), ConnectionCallbacks{.on_message = std::move(on_message)}, roomy());
    address_ = server_->listen("127.0.0.1:0").value();
  }
  // Sends one request to a server with `handler`, which answers and stops the loop. Expects that the peer gets
  // `wanted`.
  void expect_got(HttpHandler handler, const std::string& wanted, std::string_view request = kGet) {
    Router router;
    router.get("/", std::move(handler));
    http_ = std::make_unique<HttpServer>(loop(), std::move(router), HttpServerOptions{.listen = roomy().listen});
    address_ = http_->listen("127.0.0.1:0").value();
    RawPeer& peer = ask(request);
    run();
    EXPECT_TRUE(hears(peer, wanted));
  }
  RawPeer& ask(std::string_view request = "?") {
    RawPeer& peer = peers_.emplace_back(RawPeer::connected(address_, kRoomBytes));
    peer.send(request);
    return peer;
  }
  // Lets one peer send a request; `answer` answers it and stops the loop. Expects that the peer gets `wanted`.
  void expect_heard(const std::string& wanted, Answer answer) {
    serve(std::move(answer));
    RawPeer& peer = ask();
    run();
    EXPECT_TRUE(hears(peer, wanted));
  }
  // Returns a callback that calls `answer` and then stops the loop.
  auto then_stop(auto answer) {
    return [this, answer = std::move(answer)](auto& to) {
      answer(to);
      loop().stop();
    };
  }
  // Answers `peers` peers and stops the loop after the last answer. Expects that each peer gets `answer`.
  void expect_all_heard(size_t peers, const std::string& answer) {
    size_t asked = 0;
    serve([&](Connection& connection) {
      connection.send(answer);
      if (++asked == peers) loop().stop();
    });
    while (peers_.size() < peers) ask();
    run();
    for (RawPeer& peer : peers_) EXPECT_TRUE(hears(peer, answer));
  }
  static ServerOptions roomy() { return {.listen = {.socket = {.send_buffer_bytes = kRoomBytes}}}; }
  // Succeeds if the peer reads `wanted` and then the FIN.
  static testing::AssertionResult hears(RawPeer& peer, const std::string& wanted) {
    while (peer.pump()) {
      pollfd entry{.fd = peer.fd(), .events = POLLIN, .revents = 0};
      if (::poll(&entry, 1, 10'000) != 1) return testing::AssertionFailure() << "for 10 s neither bytes nor a FIN came";
    }
    if (peer.error() != 0) return testing::AssertionFailure() << "the connection ended with errno " << peer.error();
    return same_bytes(test::undated(peer.received()), wanted);
  }
  static std::string http_ok(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }

 private:
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<HttpServer> http_;
  SocketAddress address_;
  std::deque<RawPeer> peers_;
};

TEST_P(StoppedRightAfterSending, few_bytes_copied) {
  expect_heard("hello", then_stop([&](Connection& connection) { connection.send("hello"); }));
}

TEST_P(StoppedRightAfterSending, few_bytes_moved) {
  expect_heard("hello", then_stop([&](Connection& connection) { connection.send(Buffer("hello")); }));
}

TEST_P(StoppedRightAfterSending, few_bytes_shared) {
  const SharedBytes shared = share_bytes("hello");
  expect_heard("hello", then_stop([&](Connection& connection) { connection.send(shared); }));
}

TEST_P(StoppedRightAfterSending, loop_stopped_before_the_answer_is_sent) {
  expect_heard("hello", [&](Connection& connection) {
    loop().stop();
    connection.send("hello");
  });
}

TEST_P(StoppedRightAfterSending, several_blocks_copied) {
  const std::string answer = pattern(kSeveralBlocks);
  expect_heard(answer, then_stop([&](Connection& connection) { connection.send(answer); }));
}

TEST_P(StoppedRightAfterSending, several_blocks_moved) {
  const std::string answer = pattern(kSeveralBlocks);
  expect_heard(answer, then_stop([&](Connection& connection) { connection.send(Buffer(answer)); }));
}

// A thousand sends are more parts than one system call takes.
TEST_P(StoppedRightAfterSending, thousand_sends) {
  const std::string answer = pattern(kSeveralBlocks);
  constexpr size_t kPiece = kSeveralBlocks / 1000;
  expect_heard(answer, [&](Connection& connection) {
    for (size_t at = 0; at < answer.size(); at += kPiece) {
      connection.send(Buffer(std::string_view(answer).substr(at, kPiece)));
    }
    loop().stop();
  });
}

TEST_P(StoppedRightAfterSending, connection_closed_with_the_loop) {
  const std::string answer = pattern(kSeveralBlocks);
  expect_heard(answer, [&](Connection& connection) {
    connection.send(answer);
    connection.close();
    loop().stop();
  });
}

TEST_P(StoppedRightAfterSending, few_bytes_to_each_of_several_peers) { expect_all_heard(20, "hello"); }

TEST_P(StoppedRightAfterSending, several_blocks_to_each_of_several_peers) {
  expect_all_heard(20, pattern(kSeveralBlocks));
}

// One callback sends to all peers. Some of them have not been called in this turn, and for these the engine has not
// reported yet whether their own answers were sent.
TEST_P(StoppedRightAfterSending, broadcast_to_all_peers) {
  constexpr size_t kPeers = 20;
  std::vector<ConnectionHandle> handles;
  serve([&](Connection& connection) {
    connection.send("you, ");
    handles.push_back(connection.handle());
    if (handles.size() < kPeers) return;
    for (const ConnectionHandle& each : handles) each.send("all");
    loop().stop();
  });
  while (peers().size() < kPeers) ask();
  run();
  for (RawPeer& peer : peers()) EXPECT_TRUE(hears(peer, "you, all"));
}

// The files have more bytes than all streams together may send in one turn.
TEST_P(StoppedRightAfterSending, several_megabytes_of_files_to_many_peers) {
  constexpr size_t kPeers = 30;
  const std::string answer = pattern(100'000);
  std::vector<ConnectionHandle> handles;
  serve([&](Connection& connection) {
    handles.push_back(connection.handle());
    if (handles.size() < kPeers) return;
    for (const ConnectionHandle& each : handles) each.send_file(test::file_of(answer));
    loop().stop();
  });
  while (peers().size() < kPeers) ask();
  run();
  for (RawPeer& peer : peers()) EXPECT_TRUE(hears(peer, answer));
}

TEST_P(StoppedRightAfterSending, bytes_without_room_are_reported) {
  const std::string answer = pattern(8'000'000);
  std::string logged;
  set_log_level(LogLevel::kDebug);
  set_log_sink([&](const LogRecord& record) { logged = record.text; });
  DrainReport report;
  serve([&](Connection& connection) {
    server().drain(std::chrono::hours(1), DrainMode::kWait, [&](const DrainReport& done) { report = done; });
    // Answers ten ticks later. By then the drain has stopped the listener and is waiting.
    loop().every(std::chrono::milliseconds(1), [&, turns = 0, handle = connection.handle()]() mutable {
      if (++turns != 10) return;
      handle.send(answer);
      loop().stop();
    });
  });
  RawPeer& peer = ask();
  run();
  while (peer.pump()) {
    pollfd entry{.fd = peer.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  }
  const uint64_t lost = loop().engine().stats().lost_bytes;
  EXPECT_GT(lost, 0U);
  EXPECT_EQ(peer.received().size() + lost, answer.size());
  set_log_level(LogLevel::kInfo);
  EXPECT_EQ(logged, "a loop ended with " + std::to_string(lost) + " bytes of output unsent");
  EXPECT_EQ(report.forced, 1U);
  EXPECT_EQ(report.lost_bytes, lost);
}

TEST_P(StoppedRightAfterSending, answer_of_a_posted_task) {
  const std::string answer = pattern(kSeveralBlocks);
  expect_heard(answer, [&](Connection& connection) {
    loop().post([&, handle = connection.handle()] {
      handle.send(answer);
      loop().stop();
    });
  });
}

TEST_P(StoppedRightAfterSending, answer_of_a_timer) {
  const std::string answer = pattern(kSeveralBlocks);
  expect_heard(answer, [&](Connection& connection) {
    loop().after(Duration::zero(), [&, handle = connection.handle()] {
      handle.send(answer);
      loop().stop();
    });
  });
}

// A task that is posted before the loop has ended still runs.
TEST_P(StoppedRightAfterSending, answer_of_a_task_that_runs_while_the_loop_ends) {
  expect_heard("hello", [&](Connection& connection) {
    loop().post([&, handle = connection.handle()] {
      loop().stop();
      loop().post([handle] { handle.send("hello"); });
    });
  });
}

TEST_P(StoppedRightAfterSending, small_file) {
  const std::string head = "head;";
  const std::string body = pattern(5000);
  expect_heard(head + body + "tail", [&](Connection& connection) {
    connection.send(head);
    connection.send_file(test::file_of(body));
    connection.send("tail");
    loop().stop();
  });
}

TEST_P(StoppedRightAfterSending, small_file_of_a_posted_task) {
  const std::string body = pattern(5000);
  expect_heard(body, [&](Connection& connection) {
    loop().post([&, handle = connection.handle()] {
      handle.send_file(test::file_of(body));
      loop().stop();
    });
  });
}

TEST_P(StoppedRightAfterSending, request_of_a_client_that_has_just_connected) {
  const Fd listening = open_listening_socket(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
  Client client(loop(), {.on_open = [&](Connection& connection) {
                  connection.send("hello");
                  loop().stop();
                }});
  EXPECT_TRUE(client.connect(listening_address(listening.get()).value()));
  run();
  const Fd accepted(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::string room(100, '\0');
  EXPECT_EQ(::recv(accepted.get(), room.data(), room.size(), MSG_WAITALL), 5);
  EXPECT_EQ(room.substr(0, 5), "hello");
}

TEST_P(StoppedRightAfterSending, http_answer) {
  expect_got(then_stop([&](HttpExchange& exchange) { exchange.respond(200, "text/plain", "hello"); }),
             http_ok("hello"));
}

TEST_P(StoppedRightAfterSending, http_answer_of_several_blocks) {
  const std::string body = pattern(kSeveralBlocks);
  expect_got(then_stop([&](HttpExchange& exchange) { exchange.respond(200, "text/plain", body); }), http_ok(body));
}

TEST_P(StoppedRightAfterSending, http_answers_to_pipelined_requests) {
  int asked = 0;
  expect_got(
      [&](HttpExchange& exchange) {
        exchange.respond(200, "text/plain", "hello");
        if (++asked == 2) loop().stop();
      },
      http_ok("hello") + http_ok("hello"), std::string(kGet) + std::string(kGet));
}

TEST_P(StoppedRightAfterSending, http_answer_of_a_posted_task) {
  expect_got(
      [&](HttpExchange& exchange) {
        loop().post([&, handle = exchange.handle()] {
          handle.respond(200, "text/plain", "hello");
          loop().stop();
        });
      },
      http_ok("hello"));
}

TEST_P(StoppedRightAfterSending, http_file) {
  const std::string body = pattern(5000);
  expect_got(then_stop([&](HttpExchange& exchange) { exchange.respond_file(200, "text/plain", test::file_of(body)); }),
             http_ok(body));
}

PEAL_TEST_ON_EVERY_ENGINE(StoppedRightAfterSending);

}  // namespace
}  // namespace peal
