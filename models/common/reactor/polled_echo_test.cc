// SPDX-License-Identifier: BSD-3-Clause
// Tests two things of PolledEcho: how it serves a socket that is passed to serve(), and how it reuses the object of a
// connection that has ended. The tests use one thread and socket pairs.
#include <models/common/reactor/polled_echo.h>

#include <sys/socket.h>

#include <array>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include <tests/support/engines/socket_pair.h>

namespace peal::models {
namespace {

std::string frame(const std::string& body) { return std::string{0, 0, 0, static_cast<char>(body.size())} + body; }

// Both ends of a non-blocking connection: `served` for the service, `client` for the test.
struct SocketPair {
  SocketPair() { std::tie(served, client) = test::socket_pair(); }
  void ask(const std::string& bytes) const {
    EXPECT_EQ(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Returns the bytes that the client has received since the last call.
  std::string answer() const {
    std::array<char, 4096> bytes{};
    const ssize_t size = ::recv(client.get(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
  }
  // Ends the client's sending direction.
  void finish() const { EXPECT_EQ(::shutdown(client.get(), SHUT_WR), 0); }

  Fd served, client;
};

// Collects everything that the client receives. When the service closes the connection, stops the reactor.
class Listening final : public PollerReactor::Handler {
 public:
  Listening(PollerReactor& reactor, const SocketPair& pair) : reactor_(reactor), fd_(pair.client.get()) {
    EXPECT_TRUE(reactor_.add(fd_, PollFor::kRead, *this).has_value());
  }
  std::string heard;

 private:
  void on_ready(int) override {
    std::array<char, 4096> bytes{};
    const ssize_t size = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (size > 0) heard.append(bytes.data(), static_cast<size_t>(size));
    if (size != 0) return;
    reactor_.remove(fd_);
    reactor_.stop();
  }
  PollerReactor& reactor_;
  const int fd_;
};

struct Service {
  explicit Service(Connections connections) : echo(options, statistics, *reactor, connections) {}

  ModelOptions options;
  Statistics statistics = Statistics::make().value();
  std::unique_ptr<PollerReactor> reactor = PollerReactor::make(PollerKind::kEpoll, 16).value();
  PolledEcho echo;
};

// Serves one connection to its end, and returns the bytes that its client received. Makes a new reactor for each call,
// because a reactor that was stopped cannot run again.
std::string serve_one(Connections connections, OnHandOver on_hand_over, const std::string& asked, Tally& counted) {
  SocketPair pair;
  std::string heard;
  {
    Service service(connections);
    pair.ask(asked);
    pair.finish();
    Listening client(*service.reactor, pair);
    service.echo.serve(std::move(pair.served), on_hand_over);
    EXPECT_TRUE(service.echo.run().has_value());
    heard = client.heard;
    EXPECT_EQ(service.echo.pooled(), connections == Connections::kPooled ? 1U : 0U);
    counted = service.statistics.sum();
  }
  return heard;
}

TEST(PolledEcho, connection_that_is_read_on_hand_over_is_answered_before_the_first_wait) {
  for (const OnHandOver on_hand_over : {OnHandOver::kRegister, OnHandOver::kRead}) {
    Service service(Connections::kPooled);
    SocketPair pair;
    pair.ask(frame("at once"));
    service.echo.serve(std::move(pair.served), on_hand_over);
    EXPECT_EQ(pair.answer(), on_hand_over == OnHandOver::kRead ? frame("at once") : "");
  }
}

TEST(PolledEcho, connection_that_has_ended_before_its_hand_over_is_closed_at_once) {
  Service service(Connections::kPooled);
  SocketPair pair;
  pair.ask(frame("last words"));
  pair.finish();
  service.echo.serve(std::move(pair.served), OnHandOver::kRead);
  EXPECT_EQ(pair.answer(), frame("last words"));
  SocketPair gone;
  gone.finish();
  service.echo.serve(std::move(gone.served), OnHandOver::kRead);
  EXPECT_EQ(service.echo.pooled(), 1U) << "one read cannot know that the first client has ended";
}

TEST(PolledEcho, connection_is_served_to_its_end_with_every_option) {
  for (const Connections connections : {Connections::kPooled, Connections::kNew}) {
    for (const OnHandOver on_hand_over : {OnHandOver::kRegister, OnHandOver::kRead}) {
      Tally counted;
      EXPECT_EQ(serve_one(connections, on_hand_over, frame("a") + frame("b"), counted), frame("a") + frame("b"));
      EXPECT_EQ(counted.requests, 2U);
      EXPECT_EQ(counted.ended, 1U);
    }
  }
}

// One object serves several connections, one after another. Each of them ends in another state, for example in the
// middle of a frame. The next connection is answered as usual, so nothing of the last one is left in the object.
TEST(PolledEcho, object_from_the_pool_serves_like_a_new_one) {
  Service service(Connections::kPooled);
  service.options.read_until_empty = true;  // so that one call of serve() also reads the client's FIN
  const std::string half = frame("never whole").substr(0, 7);
  const std::string too_large = std::string(4, '\x7f');
  for (const std::string& last : {std::string(), frame("whole"), half, too_large, frame("whole") + half}) {
    SocketPair pair;
    pair.ask(last);
    pair.finish();
    service.echo.serve(std::move(pair.served), OnHandOver::kRead);
    ASSERT_EQ(service.echo.pooled(), 1U);
    SocketPair next;
    next.ask(frame("next"));
    service.echo.serve(std::move(next.served), OnHandOver::kRead);
    EXPECT_EQ(service.echo.pooled(), 0U) << "it was taken from the pool";
    EXPECT_EQ(next.answer(), frame("next"));
  }
}

TEST(PolledEcho, with_new_objects_nothing_goes_into_the_pool) {
  Service service(Connections::kNew);
  SocketPair pair;
  pair.finish();
  service.echo.serve(std::move(pair.served), OnHandOver::kRead);
  EXPECT_EQ(service.echo.pooled(), 0U);
}

}  // namespace
}  // namespace peal::models
