// SPDX-License-Identifier: BSD-3-Clause
// Tests of adopt_stream(): streams and connections of sockets that are connected already.
#include <peal/sync/adopt_stream.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <tuple>

#include <peal/coro/when.h>
#include <peal/net/server.h>
#include <peal/sync/async_event.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using test::error_of;

class AdoptStream : public test::TaskTest {
 protected:
  void SetUp() override {
    test::TaskTest::SetUp();
    if (IsSkipped()) return;
    std::tie(near, far) = test::socket_pair(0);  // blocking, and not close-on-exec
  }
  void TearDown() override {
    near.reset();
    far.reset();
    test::TaskTest::TearDown();
  }
  std::string read_far() const {
    std::array<char, 64> room{};
    const ssize_t got = ::recv(far.get(), room.data(), room.size(), MSG_DONTWAIT);
    return got > 0 ? std::string(room.data(), static_cast<size_t>(got)) : std::string();
  }

  Fd near;
  Fd far;
};

TEST_P(AdoptStream, both_ends_of_a_socketpair_talk) {
  run([this]() -> Task<> {
    Stream a = adopt_stream(loop(), std::move(near)).value();
    Stream b = adopt_stream(loop(), std::move(far)).value();
    auto asks = [&]() -> Task<> {
      EXPECT_TRUE(co_await a.write("ping\n"));
      a.shutdown_send();
      Result<Buffer> answer = co_await a.read_until("\n");
      EXPECT_EQ(answer->view(), "pong\n");
    };
    auto answers = [&]() -> Task<> {
      Result<Buffer> asked = co_await b.read_until("\n");
      EXPECT_EQ(asked->view(), "ping\n");
      Result<Buffer> end = co_await b.read();
      EXPECT_TRUE(end->empty());
      EXPECT_TRUE(co_await b.write("pong\n"));
    };
    co_await when_all(asks(), answers());
  });
}

TEST_P(AdoptStream, what_came_before_is_read_and_the_socket_is_made_fit) {
  ASSERT_EQ(::write(far.get(), "early", 5), 5);
  const int fd = near.get();
  run([&, this]() -> Task<> {
    Stream stream = adopt_stream(loop(), std::move(near)).value();
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
    Result<Buffer> early = co_await stream.read();
    EXPECT_EQ(early->view(), "early");
  });
}

TEST_P(AdoptStream, what_is_no_connected_stream_is_an_error_and_closed) {
  run([this]() -> Task<> {
    const auto error = [this](int fd) { return error_of(adopt_stream(loop(), Fd(fd))); };
    EXPECT_EQ(error(-1), std::errc::bad_file_descriptor);
    EXPECT_EQ(error(::open("/dev/null", O_RDWR | O_CLOEXEC)), std::errc::not_a_socket);
    EXPECT_EQ(error(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), std::errc::not_connected);
    EXPECT_EQ(error(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), std::errc::wrong_protocol_type);
    co_return;
  });
}

TEST_P(AdoptStream, the_loops_end_is_the_streams) {
  run_into_the_end([&, this]() -> Task<> {
    Stream stream = adopt_stream(loop(), std::move(near)).value();
    EXPECT_EQ(error_of(co_await stream.read()), Trouble::kLoopStopped);
    EXPECT_EQ(error_of(adopt_stream(loop(), std::move(far))), Trouble::kLoopStopped);
  });
}

TEST_P(AdoptStream, a_server_takes_it_as_one_that_it_accepted) {
  AsyncEvent closed;
  std::string events;
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&](Connection&) { events += "open "; };
  callbacks.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); };
  callbacks.on_close = [&](Connection&, CloseReason reason) {
    events += reason == CloseReason::kPeerClosed ? "closed" : "ended otherwise";
    closed.set();
  };
  Server server(loop(), std::move(callbacks));
  run([&, this]() -> Task<> {
    EXPECT_TRUE(server.adopt(connected_stream(std::move(near)).value()));
    EXPECT_EQ(events, "open ");
    EXPECT_EQ(server.connections(), 1U);
    EXPECT_EQ(::write(far.get(), "hello", 5), 5);
    std::string echoed;
    while (echoed.empty()) {
      co_await settle();
      echoed = read_far();
    }
    EXPECT_EQ(echoed, "hello");
    far.reset();
    EXPECT_TRUE(co_await closed.wait());
    EXPECT_EQ(events, "open closed");
  });
}

TEST_P(AdoptStream, a_server_takes_it_before_its_loop_runs_and_not_once_that_has_ended) {
  AsyncEvent open;
  ConnectionCallbacks callbacks;
  callbacks.on_open = [&](Connection&) { open.set(); };
  Server server(loop(), std::move(callbacks));
  EXPECT_TRUE(server.adopt(connected_stream(std::move(near)).value()));
  run([&]() -> Task<> { EXPECT_TRUE(co_await open.wait()); });
  EXPECT_EQ(error_of(server.adopt(LooseStream(std::move(far)))), Trouble::kLoopStopped);
}

PEAL_TEST_ON_EVERY_ENGINE(AdoptStream);

}  // namespace
}  // namespace peal
