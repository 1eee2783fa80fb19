// SPDX-License-Identifier: BSD-3-Clause
// A WebSocket over a carrier that is not a connection of its own. Messages, backpressure, deadlines and the end work as
// they do on a connection.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <peal/base/assert.h>
#include <peal/http/websocket/parts/websocket_shared.h>
#include <tests/support/sim_rig.h>
#include <tests/support/websocket_frames.h>

namespace peal {
namespace {

using detail::WebSocketCarrier;
using detail::WebSocketCore;
using detail::WebSocketDriver;
using test::client_frame;
using testing::ElementsAre;

constexpr size_t kHighWaterBytes = 1000;

// A carrier that keeps sent bytes in memory until the test takes them in the place of the peer.
class MemorySocketCarrier final : public WebSocketCarrier {
 public:
  explicit MemorySocketCarrier(Loop& loop) : loop_(loop) {}

  std::string queued;  // sent bytes that the peer has not taken
  uint64_t taken_bytes = 0;
  uint64_t arrived = 0;
  size_t gathered_bytes = 0;
  bool paused = false;
  std::string end;  // the call that ended the carrier: "close" or "abort"; empty while it is open
  bool sending_ended = false;

  bool send(std::string_view bytes) override {
    if (!end.empty() || sending_ended) return false;
    queued += bytes;
    return queued.size() <= kHighWaterBytes;
  }
  bool send(Buffer&& bytes) override { return send(std::exchange(bytes, Buffer()).to_string()); }
  bool send(const SharedBytes& bytes) override {
    return send(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  }
  void shutdown_send() override { sending_ended = true; }
  void close() override { finish("close"); }
  void abort() override { finish("abort"); }
  void pause() override { paused = true; }
  void resume() override { paused = false; }
  void count_gathered(size_t held_bytes) override { gathered_bytes = held_bytes; }
  bool is_open() const override { return end.empty(); }
  size_t queued_bytes() const override { return queued.size(); }
  uint64_t undelivered_bytes() const override { return queued.size(); }
  uint64_t sent_bytes() const override { return taken_bytes + queued.size(); }
  uint64_t arrived_bytes() const override { return arrived; }
  Loop& loop() const override { return loop_; }
  Connection& connection() const override {
    PEAL_ASSERT(false, "{} bytes are queued in no connection", queued.size());
    std::abort();
  }

 private:
  void finish(std::string_view how) {
    if (end.empty()) end = how;
  }
  Loop& loop_;
};

class CarriedWebSocketTest : public test::SimTest {
 protected:
  void TearDown() override {
    socket_.reset();
    SimTest::TearDown();
  }
  void open(WebSocketCallbacks callbacks, const WebSocketOptions& options = {}) {
    callbacks.on_close = [this](WebSocket&, uint16_t code, std::string_view reason) {
      journal_.push_back("close " + std::to_string(code) + " " + std::string(reason));
    };
    socket_.emplace(std::make_shared<WebSocketCore>(std::move(callbacks), options), carrier_, WebSocketRole::kServer,
                    "", std::nullopt);
    socket_->opened();
  }
  void arrive(std::string_view bytes) {
    carrier_.arrived += bytes.size();
    input_.append(bytes);
    socket_->received(input_);
  }
  // Takes all queued bytes as the peer and returns the frames in them as text.
  std::string take() {
    const std::string bytes = std::exchange(carrier_.queued, {});
    carrier_.taken_bytes += bytes.size();
    return test::read_websocket(WebSocketRole::kClient, bytes, {.cuts = {}, .deflate = {}, .limit_bytes = 100'000});
  }
  void run_for(Duration time) { world_.run_for(time); }

 private:
  SimWorld world_{1, {}};
  SimLoop loop_{world_};
  Buffer input_;

 protected:
  MemorySocketCarrier carrier_{*loop_};
  std::optional<WebSocketDriver> socket_;
  std::vector<std::string> journal_;
};

TEST_F(CarriedWebSocketTest, messages_go_both_ways_and_the_client_closes) {
  open({.on_open = [](WebSocket& socket) { socket.send_text("welcome"); },
        .on_message = [](WebSocket& socket, WebSocketKind kind,
                         std::string_view message) { socket.send(kind, message); }});
  const std::string hello = client_frame(WebSocketOpcode::kText, "hello");
  arrive(hello.substr(0, 3));
  EXPECT_EQ(take(), "text welcome|");
  arrive(hello.substr(3) + client_frame(WebSocketOpcode::kPing, "p") + client_frame(WebSocketOpcode::kBinary, "bin"));
  EXPECT_EQ(take(), "text hello|pong p|binary bin|");
  arrive(client_frame(WebSocketOpcode::kClose, std::string("\x03\xe8", 2) + "done"));
  EXPECT_EQ(take(), std::string("close \x03\xe8|", 9));
  EXPECT_EQ(carrier_.end, "close");
  socket_->closed(CloseReason::kLocal);
  EXPECT_THAT(journal_, ElementsAre("close 1000 done"));
}

TEST_F(CarriedWebSocketTest, server_closes_and_the_answer_or_its_deadline_ends_the_carrier) {
  WebSocketCallbacks closing{.on_message = [](WebSocket& socket, WebSocketKind, std::string_view) {
    socket.close(4000, "enough");
    EXPECT_FALSE(socket.send_text("dropped"));
  }};
  open(std::move(closing));
  arrive(client_frame(WebSocketOpcode::kText, "x"));
  EXPECT_EQ(take(),
            "close \x0f\xa0"
            "enough|");
  EXPECT_EQ(carrier_.end, "");
  run_for(std::chrono::seconds(6));  // the peer took the Close frame, so close_timeout starts anew
  EXPECT_EQ(carrier_.end, "");
  run_for(std::chrono::seconds(5));
  EXPECT_EQ(carrier_.end, "close");
  socket_->closed(CloseReason::kLocal);
  EXPECT_THAT(journal_, ElementsAre("close 1006 the peer did not answer the close in time"));
}

TEST_F(CarriedWebSocketTest, silent_peer_is_pinged_and_then_cut_off_unless_it_answers) {
  open({}, {.ping_interval = std::chrono::seconds(10), .pong_timeout = std::chrono::seconds(5)});
  run_for(std::chrono::seconds(11));
  EXPECT_EQ(take(), "ping |");
  arrive(client_frame(WebSocketOpcode::kPong, ""));
  run_for(std::chrono::seconds(11));
  EXPECT_EQ(take(), "ping |");
  EXPECT_EQ(carrier_.end, "");
  run_for(std::chrono::seconds(5));
  EXPECT_EQ(carrier_.end, "abort");
  EXPECT_TRUE(socket_->cut_off());
  socket_->closed(CloseReason::kAborted);
  EXPECT_THAT(journal_, ElementsAre("close 1006 the peer did not answer a ping in time"));
}

TEST_F(CarriedWebSocketTest, sender_waits_above_the_high_water_mark_and_is_told_to_go_on) {
  const std::string large(900, '#');
  int writable = 0;
  open({.on_open =
            [&](WebSocket& socket) {
              EXPECT_TRUE(socket.send_text(large));
              EXPECT_FALSE(socket.send(WebSocketBroadcast(WebSocketKind::kText, large)));
              EXPECT_EQ(socket.queued_bytes(), carrier_.queued.size());
            },
        .on_writable =
            [&](WebSocket& socket) {
              ++writable;
              EXPECT_TRUE(socket.send_binary("more"));
            }});
  EXPECT_EQ(take(), "text " + large + "|text " + large + "|");
  socket_->writable();
  EXPECT_EQ(writable, 1);
  EXPECT_EQ(take(), "binary more|");
}

TEST_F(CarriedWebSocketTest, paused_socket_leaves_what_came_and_goes_on_with_it) {
  WebSocket* paused = nullptr;
  open({.on_message = [&](WebSocket& socket, WebSocketKind, std::string_view message) {
    journal_.emplace_back(message);
    if (message != "pause") return;
    paused = &socket;
    socket.pause();
  }});
  arrive(client_frame(WebSocketOpcode::kText, "pause") + client_frame(WebSocketOpcode::kText, "later"));
  EXPECT_TRUE(carrier_.paused);
  EXPECT_THAT(journal_, ElementsAre("pause"));
  paused->resume();
  EXPECT_FALSE(carrier_.paused);
  arrive({});
  EXPECT_THAT(journal_, ElementsAre("pause", "later"));
}

TEST_F(CarriedWebSocketTest, peer_that_breaks_the_protocol_is_told_so) {
  open({});
  arrive(test::server_frame(WebSocketOpcode::kText, "unmasked"));
  EXPECT_THAT(take(), testing::StartsWith("close \x03\xea"));
  EXPECT_EQ(carrier_.end, "close");
}

}  // namespace
}  // namespace peal
