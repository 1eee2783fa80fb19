// SPDX-License-Identifier: BSD-3-Clause
// Tests of two coroutines, one at each end of a connection, that both call start_layer(). They run on every engine and
// in the simulator, with sealed bytes and with TLS.
#include <string>

#include <peal/base/log.h>
#include <peal/coro/co_server.h>
#include <peal/coro/connect.h>
#include <peal/coro/sleep.h>
#include <peal/coro/when.h>
#include <tests/support/engine_rig.h>
#include <tests/support/loop_thread.h>
#include <tests/support/sealed/sealed_port.h>
#include <tests/support/tls/tls_layers.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;

std::string text_of(const Result<Buffer>& read) { return read ? read->to_string() : read.error().message(); }

// The parameter of each test is the name of the layer and of the engine: "tls_epoll".
class StreamPairLayerTest : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    set_log_sink([](const LogRecord&) {});
    blocks_before_ = BlockPool::here().stats().blocks_in_use;
  }
  void TearDown() override {
    if (IsSkipped()) return;
    set_log_sink({});
    expect_no_fd_left();
    EXPECT_EQ(BlockPool::here().stats().blocks_in_use, blocks_before_) << "blocks were left behind";
  }
  // Runs a server with `serve` and one client with `call`, until both have ended.
  void talk(CoServer::Serve serve, const std::function<Task<>(Stream)>& call) {
    const auto loop = test::make_loop(LoopOptions{.engine = std::string(test::below(GetParam()))}).value();
    ServerOptions serving;
    serving.connection = later(test::is_over_tls(GetParam()) ? test::tls_server() : sealed_);
    CoServer server(*loop, std::move(serve), serving);
    const uint16_t port = server.listen("127.0.0.1:0").value().port();
    auto calls = [&, port]() -> Task<> {
      ClientOptions calling;
      calling.connect.host = "localhost";
      calling.connection = later(test::is_over_tls(GetParam()) ? test::tls_client() : sealed_);
      auto stream = co_await connect("127.0.0.1:" + std::to_string(port), calling);
      EXPECT_TRUE(stream);
      if (stream) co_await call(std::move(*stream));
      while (server.tasks() > 0) co_await sleep(milliseconds(1));
      server_stats = server.stats();
      loop->stop();
    };
    Scope scope(*loop);
    scope.spawn(calls());
    ASSERT_TRUE(loop->run());
  }
  // The server's part and the client's part of starting the layer: the client sends "start", the server answers `go`.
  static Task<Result<void>> start_here(Stream& stream, std::string go = "go\n") {
    EXPECT_EQ(text_of(co_await stream.read_until("\n")), "start\n");
    co_await stream.write(go);
    co_return co_await stream.start_layer();
  }
  static Task<Result<void>> start_there(Stream& stream, std::string says = "start\n") {
    co_await stream.write(says);
    EXPECT_EQ(text_of(co_await stream.read_until("\n")), "go\n");
    co_return co_await stream.start_layer();
  }
  // True if this is the error of a side that has received plaintext instead of the layer's handshake.
  bool is_refusal(std::error_code error) const {
    return test::is_over_tls(GetParam()) ? std::string_view(error.category().name()) == "tls"
                                         : error == test::no_seal_hello();
  }

  Duration handshake_timeout = hours(1);
  uint32_t high_water_bytes = 64 * 1024;
  NetStats server_stats;

 private:
  ConnectionOptions later(const StreamLayer& layer) const {
    return {.high_water_bytes = high_water_bytes,
            .layer = &layer,
            .layer_later = true,
            .handshake_timeout = handshake_timeout};
  }
  const test::SealedLayer sealed_;
  uint64_t blocks_before_ = 0;
};

TEST_P(StreamPairLayerTest, both_sides_talk) {
  talk(
      [](Stream stream) -> Task<> {
        EXPECT_TRUE(co_await start_here(stream));
        while (auto line = co_await stream.read_until("\n")) {
          if (line->empty()) break;
          EXPECT_TRUE(co_await stream.write(std::move(*line)));
        }
      },
      [](Stream stream) -> Task<> {
        EXPECT_TRUE(co_await start_there(stream));
        EXPECT_NE(stream.connection()->layer_facts().value().peer, "");
        for (const std::string line : {"one\n", "two\n", "three\n"}) {
          EXPECT_TRUE(co_await stream.write(line));
          EXPECT_EQ(text_of(co_await stream.read_until("\n")), line);
        }
        stream.connection()->shutdown_send();
        EXPECT_EQ(text_of(co_await stream.read()), "");
      });
  EXPECT_EQ(server_stats.opened, 1u);
  EXPECT_EQ(server_stats.exceptions, 0u);
  EXPECT_EQ(server_stats.handshakes_failed, 0u);
}

// Sends far more than the queues hold, before and after the layer starts. Nothing is lost or out of order.
TEST_P(StreamPairLayerTest, much_before_and_much_after) {
  high_water_bytes = 10'000;
  const std::string before = pattern(700'000);
  const std::string after = pattern(900'001);
  auto says = [](Stream& stream, std::string_view what) -> Task<> {
    EXPECT_TRUE(co_await stream.write(what));
    EXPECT_TRUE(co_await stream.flush());
  };
  auto starts = [](Stream& stream) -> Task<> { EXPECT_TRUE(co_await stream.start_layer()); };
  auto hears = [](Stream& stream, std::string_view wanted) -> Task<> {
    auto heard = co_await stream.read_exactly(wanted.size());
    EXPECT_TRUE(same_bytes(text_of(heard), std::string(wanted)));
  };
  talk(
      [&](Stream stream) -> Task<> {
        EXPECT_EQ(text_of(co_await stream.read_until("\n")), "start\n");
        co_await when_all(says(stream, before), starts(stream), says(stream, after), says(stream, "all\n"));
        co_await hears(stream, before);
      },
      [&](Stream stream) -> Task<> {
        EXPECT_TRUE(co_await stream.write("start\n"));
        co_await hears(stream, before);
        co_await when_all(starts(stream), hears(stream, after));
        EXPECT_EQ(text_of(co_await stream.read_until("\n")), "all\n");
        co_await says(stream, before);
      });
}

// An attacker appends plaintext to the line that asks for the layer, or to the answer. The handshake of the side that
// receives that plaintext fails.
TEST_P(StreamPairLayerTest, plaintext_injected_is_read_by_neither_side) {
  for (const bool by_server : {false, true}) {
    const auto hears_nothing = [this](Stream& stream, bool is_victim, Result<void> started) -> Task<> {
      EXPECT_TRUE(!is_victim || is_refusal(error_of(started))) << error_of(started).message();
      const std::error_code read = error_of(co_await stream.read_until("\n"));
      EXPECT_TRUE(started ? read == Trouble::kTruncated || read == errno_code(ECONNRESET) : read == error_of(started));
    };
    talk(
        [&](Stream stream) -> Task<> {
          auto started = co_await start_here(stream, by_server ? "go\n250 evil\n" : "go\n");
          co_await hears_nothing(stream, !by_server, started);
        },
        [&](Stream stream) -> Task<> {
          auto started = co_await start_there(stream, by_server ? "start\n" : "start\nevil\n");
          co_await hears_nothing(stream, by_server, started);
        });
    EXPECT_EQ(server_stats.exceptions, 0u);
  }
}

TEST_P(StreamPairLayerTest, peer_that_never_starts_is_waited_for_no_longer_than_asked) {
  handshake_timeout = milliseconds(20);
  const auto waits = [](Stream stream) -> Task<> {
    co_await stream.write("go\n");
    for (auto input = co_await stream.read(); input && !input->empty();) input = co_await stream.read();
  };
  talk(waits, [](Stream stream) -> Task<> {
    EXPECT_EQ(error_of(co_await start_there(stream)), errno_code(ETIMEDOUT));
    EXPECT_EQ(error_of(co_await stream.read()), errno_code(ETIMEDOUT));
  });
  handshake_timeout = hours(1);
  talk(waits, [](Stream stream) -> Task<> {
    co_await stream.write("start\n");
    EXPECT_EQ(text_of(co_await stream.read_until("\n")), "go\n");
    auto starts = [&]() -> Task<Result<void>> { co_return co_await stream.start_layer(); };
    EXPECT_EQ(error_of(co_await starts().within(milliseconds(5))), errno_code(ETIMEDOUT));
    EXPECT_EQ(error_of(co_await stream.flush().within(milliseconds(1))), errno_code(ETIMEDOUT));
    EXPECT_FALSE(stream.is_open());
  });
}

TEST_P(StreamPairLayerTest, side_that_leaves_meanwhile_is_an_error_to_the_other) {
  for (const bool aborts : {false, true}) {
    talk([](Stream stream) -> Task<> { EXPECT_NE(error_of(co_await start_here(stream)), std::error_code()); },
         [aborts](Stream stream) -> Task<> {
           co_await stream.write("start\n");
           EXPECT_EQ(text_of(co_await stream.read_until("\n")), "go\n");
           if (aborts) stream.abort();
         });
    EXPECT_EQ(server_stats.handshakes_failed, 1u);
  }
}

PEAL_TEST_ON(sealed, StreamPairLayerTest, test::sealed(test::every_engine()));
PEAL_TEST_ON(tls, StreamPairLayerTest, test::over_tls(test::every_engine()));

}  // namespace
}  // namespace peal
