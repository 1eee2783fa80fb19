// SPDX-License-Identifier: BSD-3-Clause
// What PolledEcho does with a socket it is given, and with the object of a connection that has ended; on one thread,
// over socket pairs.
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

// Both sides of a connection that do not block: what the service is given, and the client's.
struct SocketPair {
  SocketPair() { std::tie(served, client) = test::socket_pair(); }
  void ask(const std::string& bytes) const {
    EXPECT_EQ(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // What has come back by now.
  std::string answer() const {
    std::array<char, 4096> bytes{};
    const ssize_t size = ::recv(client.get(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
  }
  // The other side has closed, or will without being asked.
  void finish() const { EXPECT_EQ(::shutdown(client.get(), SHUT_WR), 0); }

  Fd served, client;
};

// Hears all that comes back until the end, and ends the reactor then.
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

// Another reactor each time: one that has ended does not begin again. What the client heard in all.
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

TEST(PolledEcho, who_is_read_on_hand_over_is_answered_before_anybody_waits) {
  for (const OnHandOver on_hand_over : {OnHandOver::kRegister, OnHandOver::kRead}) {
    Service service(Connections::kPooled);
    SocketPair pair;
    pair.ask(frame("at once"));
    service.echo.serve(std::move(pair.served), on_hand_over);
    EXPECT_EQ(pair.answer(), on_hand_over == OnHandOver::kRead ? frame("at once") : "");
  }
}

TEST(PolledEcho, who_has_ended_when_it_is_handed_over_is_closed_at_once) {
  Service service(Connections::kPooled);
  SocketPair pair;
  pair.ask(frame("last words"));
  pair.finish();
  service.echo.serve(std::move(pair.served), OnHandOver::kRead);
  EXPECT_EQ(pair.answer(), frame("last words"));
  SocketPair gone;
  gone.finish();
  service.echo.serve(std::move(gone.served), OnHandOver::kRead);
  EXPECT_EQ(service.echo.pooled(), 1U) << "the first may have more to say, as far as one read tells";
}

TEST(PolledEcho, is_served_to_its_end_however_it_is_taken) {
  for (const Connections connections : {Connections::kPooled, Connections::kNew}) {
    for (const OnHandOver on_hand_over : {OnHandOver::kRegister, OnHandOver::kRead}) {
      Tally counted;
      EXPECT_EQ(serve_one(connections, on_hand_over, frame("a") + frame("b"), counted), frame("a") + frame("b"));
      EXPECT_EQ(counted.requests, 2U);
      EXPECT_EQ(counted.ended, 1U);
    }
  }
}

// One object serves one connection after the other: nothing of the last one is left in it.
TEST(PolledEcho, an_object_is_used_again_as_if_it_were_new) {
  Service service(Connections::kPooled);
  service.options.read_until_empty = true;  // so that the end is seen at once
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

TEST(PolledEcho, an_object_is_not_kept_where_each_is_new) {
  Service service(Connections::kNew);
  SocketPair pair;
  pair.finish();
  service.echo.serve(std::move(pair.served), OnHandOver::kRead);
  EXPECT_EQ(service.echo.pooled(), 0U);
}

}  // namespace
}  // namespace peal::models
