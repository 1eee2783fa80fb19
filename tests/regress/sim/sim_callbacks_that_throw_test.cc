// SPDX-License-Identifier: BSD-3-Clause
// Each exception that left a callback was logged, and a log line is a system call. A peer could send 2,000 messages
// that made a callback throw, and they made 2,000 lines, as fast as the peer liked. Now every exception is counted, but
// only a few are logged.
#include <stdexcept>
#include <string>

#include <peal/coro/co_server.h>
#include <peal/http/server/http_server.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

constexpr size_t kTimesThrown = 2000;

class SimThrowing : public test::SimTest {
 protected:
  void SetUp() override {
    set_log_sink([this](const LogRecord& record) {
      if (record.text.find("threw") != std::string_view::npos) ++lines_;
    });
  }
  // Opens one connection after the other. Each sends `message` and waits for its end.
  void bother(test::SimPair& pair, const SocketAddress& address, const std::string& message) {
    begun_at_ = pair.world.now();
    for (size_t i = 0; i < kTimesThrown; ++i) {
      bool over = false;
      Client client(*pair.there, {.on_open = [&](Connection& connection) { connection.send(message); },
                                  .on_message = [](Connection& connection, Buffer&) { connection.close(); },
                                  .on_close = [&](Connection&, CloseReason) { over = true; }});
      ASSERT_TRUE(client.connect(address));
      ASSERT_TRUE(pair.run_until([&] { return over; }));
    }
  }
  // Expects the line of the first exception and at most one more per second.
  void expect_few_lines(test::SimPair& pair) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(pair.world.now() - begun_at_);
    EXPECT_GE(lines_, 1u);
    EXPECT_LE(lines_, static_cast<size_t>(seconds.count()) + 2);
  }

  size_t lines_ = 0;
  TimePoint begun_at_{};
};

TEST_F(SimThrowing, callbacks_of_connections) {
  on_seeds(1, {}, [this](test::SimPair& pair) {
    Server server(*pair.here, {.on_message = [](Connection&, Buffer&) { throw std::runtime_error("on purpose"); }});
    bother(pair, pair.listen(server), "?");
    EXPECT_EQ(server.stats().exceptions, kTimesThrown);
    expect_few_lines(pair);
  });
}

TEST_F(SimThrowing, tasks_of_connections_that_are_gone) {
  on_seeds(1, {}, [this](test::SimPair& pair) {
    CoServer server(*pair.here, [](Stream stream) -> Task<> {
      co_await stream.read();
      stream.abort();
      co_await sleep(std::chrono::seconds(1));
      throw std::runtime_error("on purpose");
    });
    bother(pair, pair.listen(server), "?");
    EXPECT_TRUE(pair.run_until([&] { return server.stats().exceptions == kTimesThrown; }));
    expect_few_lines(pair);
  });
}

TEST_F(SimThrowing, handlers_of_requests) {
  on_seeds(1, {}, [this](test::SimPair& pair) {
    Router router;
    router.get("/", [](HttpExchange&) { throw std::runtime_error("on purpose"); });
    HttpServer server(*pair.here, std::move(router));
    bother(pair, pair.listen(server), "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(server.stats().exceptions, kTimesThrown);
    expect_few_lines(pair);
  });
}

}  // namespace
}  // namespace peal
