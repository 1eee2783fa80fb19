// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/websocket/websocket_stream.h>

#include <gmock/gmock.h>

#include <peal/coro/scope.h>
#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

using test::BytePeer;
using test::client_frame;
using test::server_frame;
using testing::ElementsAre;
using enum WebSocketOpcode;

class WebSocketStreamSuite : public test::WebSocketTest {
 protected:
  void SetUp() override {
    WebSocketTest::SetUp();
    if (!IsSkipped()) scope_.emplace(loop());
  }
  void TearDown() override {
    if (!IsSkipped()) {
      drop_server();
      scope_->cancel();
      EXPECT_TRUE(run_until([&] { return scope_->size() == 0; }));
      scope_.reset();
    }
    WebSocketTest::TearDown();
  }
  using Serve = Task<> (*)(std::shared_ptr<WebSocketStream>, std::vector<std::string>&);
  void serve_each(Serve task, size_t most_waiting = 16) {
    serve(websocket_streams(
        [this, task](std::shared_ptr<WebSocketStream> stream) {
          last = stream;
          scope_->spawn(task(std::move(stream), journal));
        },
        most_waiting));
  }
  static Task<> echo(std::shared_ptr<WebSocketStream> stream, std::vector<std::string>& journal) {
    for (;;) {
      auto message = co_await stream->receive();
      if (!message) {
        journal.push_back(message.error().message());
        journal.push_back(std::to_string(stream->close_code()));
        co_return;
      }
      stream->send(message->kind, message->text);
    }
  }
  static Task<> two_then_close(std::shared_ptr<WebSocketStream> stream, std::vector<std::string>& journal) {
    for (int count = 0; count < 2; ++count) {
      auto message = co_await stream->receive();
      if (message) journal.push_back(message->text);
    }
    stream->close(4000);
    auto late = co_await stream->receive().within(std::chrono::seconds(5));
    journal.push_back(late ? late->text : late.error().message());
  }
  static Task<> never_reads(std::shared_ptr<WebSocketStream> stream, std::vector<std::string>&) {
    stream->send_text("begun");
    co_return;
  }
  std::weak_ptr<WebSocketStream> last;

 private:
  std::optional<Scope> scope_;
};

TEST_P(WebSocketStreamSuite, echoes_and_hears_of_the_end) {
  serve_each(echo);
  BytePeer& peer = open_peer();
  peer.send(client_frame(kText, "one") + client_frame(kBinary, "two") + client_frame(kClose, "\x03\xe8"));
  ASSERT_TRUE(run_until([&] { return journal.size() == 2; }));
  EXPECT_EQ(peer.frames().substr(0, 10), server_frame(kText, "one") + server_frame(kBinary, "two"));
  EXPECT_THAT(journal, ElementsAre(errno_code(EPIPE).message(), "1000"));
}

TEST_P(WebSocketStreamSuite, messages_that_wait_are_bounded_and_none_is_lost) {
  serve_each(echo, 2);
  BytePeer& peer = open_peer();
  std::string sent;
  std::string expected;
  for (int count = 0; count < 100; ++count) {
    sent += client_frame(kText, std::to_string(count));
    expected += server_frame(kText, std::to_string(count));
  }
  peer.send(sent);
  EXPECT_TRUE(run_until([&] { return peer.frames() == expected; }));
}

TEST_P(WebSocketStreamSuite, who_does_not_read_slows_the_peer_down) {
  serve_each(never_reads, 3);
  BytePeer& peer = open_peer();
  ASSERT_TRUE(run_until([&] { return peer.frames() == server_frame(kText, "begun"); }));
  EXPECT_TRUE(last.lock()->socket() != nullptr);
  const std::string message = client_frame(kText, std::string(10'000, 'x'));
  for (int count = 0; count < 100; ++count) peer.send(message);
  settle();
  EXPECT_LT(last.lock()->socket()->connection().received_bytes(), 500'000u);
}

TEST_P(WebSocketStreamSuite, a_task_that_closes) {
  serve_each(two_then_close);
  BytePeer& peer = open_peer();
  peer.send(client_frame(kText, "one") + client_frame(kText, "two") + client_frame(kText, "three"));
  ASSERT_TRUE(run_until([&] { return peer.frames() == server_frame(kClose, websocket_close_payload(4000, "")); }));
  peer.send(client_frame(kClose, "\x0f\xa0"));
  ASSERT_TRUE(run_until([&] { return journal.size() == 3; }));
  EXPECT_THAT(journal, ElementsAre("one", "two", errno_code(EPIPE).message()));
}

TEST_P(WebSocketStreamSuite, the_server_dies_while_a_task_waits) {
  serve_each(echo);
  BytePeer& peer = open_peer();
  drop_server();
  ASSERT_TRUE(run_until([&] { return journal.size() == 2 && peer.ended; }));
  EXPECT_THAT(journal, ElementsAre(errno_code(EPIPE).message(), "1006"));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(WebSocketStreamSuite);

}  // namespace
}  // namespace peal
