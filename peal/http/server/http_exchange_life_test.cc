// SPDX-License-Identifier: BSD-3-Clause
// Tests how exchanges, their coroutines and their server end: abandoned, cancelled, drained, passed on.
#include <future>
#include <stdexcept>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/http/server/http_server.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr Duration kLong = std::chrono::seconds(10);

class HttpExchangeLifeTest : public test::HttpTest {
 protected:
  // Returns routes whose handlers keep the handles of their exchanges; the test answers later.
  Router patient() {
    Router router;
    router.get("/", [this](HttpExchange& exchange) {
      unanswered.push_back(exchange.handle());
      exchange.on_abandoned([this](HttpExchange& lost) {
        EXPECT_TRUE(lost.abandoned());
        lost.respond(200, "", "to nobody");
        ++abandoned_;
      });
    });
    return router;
  }
  int abandoned_ = 0;
};

TEST_P(HttpExchangeLifeTest, client_that_goes_away_leaves_an_abandoned_exchange_and_late_answers_do_nothing) {
  serve(patient());
  RawPeer one = peer_sending(kGet);
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  one.reset();
  ASSERT_TRUE(wait_until([&] { return abandoned_ == 1; }));
  unanswered[0].respond(200, "", "too late");
  EXPECT_EQ(server().stats().abandoned, 1u);
  RawPeer next = peer_sending(kGet);
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 2; }));
  unanswered[0].respond(200, "", "of another");
  unanswered[1].respond(200, "", "its own");
  ASSERT_TRUE(hears(next, "its own"));
  EXPECT_THAT(next.received(), Not(HasSubstr("of another")));
}

TEST_P(HttpExchangeLifeTest, coroutine_answers_streams_and_fails_as_a_callback_does) {
  Router router;
  router.get("/answer", [](HttpExchange& exchange) -> Task<> {
    co_await sleep(std::chrono::milliseconds(1));
    exchange.respond(200, "", fmt::format("answer to {}", exchange.request().target()));
  });
  router.get("/stream", [](HttpExchange& exchange) -> Task<> {
    exchange.begin(200);
    const std::string piece(100'000, '#');
    for (int i = 0; i < 50; ++i) {
      exchange.write(piece);
      const Result<void> writable = co_await exchange.writable();
      if (!writable) co_return;
    }
  });
  router.get("/nothing", [](HttpExchange&) -> Task<> { co_await sleep(std::chrono::milliseconds(1)); });
  router.get("/throw", [](HttpExchange&) -> Task<> {
    co_await sleep(std::chrono::milliseconds(1));
    throw std::runtime_error("thrown later");
  });
  router.get("/after", [](HttpExchange& exchange) -> Task<> {
    exchange.respond(200, "", "before the end");
    co_await sleep(std::chrono::milliseconds(20));
    EXPECT_EQ(exchange.request().target(), "/after");
  });
  serve(std::move(router));
  RawPeer one = peer();
  for (const std::string_view path : {"/answer", "/after", "/nothing", "/after", "/throw", "/answer"}) {
    one.send(fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path));
  }
  ASSERT_TRUE(hears(one, "answer to /answer", 2));
  EXPECT_EQ(test::count_of(one.received(), "HTTP/1.1 500 "), 2u);
  EXPECT_EQ(test::count_of(one.received(), "before the end"), 2u);
  EXPECT_EQ(log_texts.count("the handler of GET /throw threw: thrown later (0 more like it)"), 1u);
  const std::string streamed = answer_to("GET", "/stream");
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(streamed, '#')), 5'000'000u);
  EXPECT_THAT(streamed, EndsWith("\r\n0\r\n\r\n"));
}

TEST_P(HttpExchangeLifeTest, coroutine_is_cancelled_when_its_client_goes_away) {
  size_t begun = 0;
  std::vector<std::string> ends;
  Router router;
  router.get("/", [&](HttpExchange& exchange) -> Task<> {
    ++begun;
    const Result<void> slept = co_await sleep(kLong);
    ends.push_back(slept ? "slept" : slept.error().message());
    exchange.respond(200, "", "to nobody");
    EXPECT_EQ(exchange.request().target(), "/");
  });
  router.post("/", [&](HttpExchange& exchange) -> Task<> {
    ++begun;
    const Result<std::string> body = co_await exchange.read_all();
    ends.push_back(body ? "read" : body.error().message());
  });
  serve(std::move(router));
  for (const std::string_view request :
       {kGet, std::string_view("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe")}) {
    RawPeer one = peer_sending(request);
    ASSERT_TRUE(wait_until([&] { return begun > ends.size(); }));
    one.reset();
    ASSERT_TRUE(wait_until([&] { return begun == ends.size(); }));
    EXPECT_EQ(ends.back(), errno_code(ECANCELED).message());
  }
}

TEST_P(HttpExchangeLifeTest, server_may_be_destroyed_while_requests_and_coroutines_are_under_way) {
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  Router router = patient();
  router.get("/task", [&](HttpExchange& exchange) -> Task<> {
    ++begun;
    co_await sleep(kLong);
    exchange.respond(200, "", "late");
    ++ended;
  });
  router.get("/after", [&](HttpExchange& exchange) -> Task<> {
    exchange.respond(200, "", "answered");
    ++begun;
    co_await sleep(kLong);
    ++ended;
  });
  serve(std::move(router));
  RawPeer one = peer_sending(kGet);
  RawPeer two = peer_sending("GET /task HTTP/1.1\r\nHost: a\r\n\r\n");
  RawPeer three = peer_sending("GET /after HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1 && begun == 2; }));
  end_server();
  unanswered[0].respond(200, "", "too late");
  ASSERT_TRUE(wait_until([&] { return ended == 2; }));
  EXPECT_EQ(abandoned_, 0);
}

TEST_P(HttpExchangeLifeTest, drain_completes_what_is_under_way_and_closes_what_is_idle) {
  serve(patient(), {.drain_grace = Duration::zero()});
  RawPeer idle = peer();
  RawPeer busy = peer_sending(kGet);
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1 && server().connections() == 2; }));
  std::promise<DrainReport> report;
  server().drain(kLong, [&](const DrainReport& done) { report.set_value(done); });
  ASSERT_TRUE(ends(idle));
  idle.close();
  unanswered[0].respond(200, "", "last");
  const std::string answer = all_of(busy);
  EXPECT_THAT(answer, testing::AllOf(HasSubstr("\r\nConnection: close\r\n"), EndsWith("last")));
  busy.close();
  EXPECT_EQ(report.get_future().get().finished, 2u);
}

TEST_P(HttpExchangeLifeTest, drain_answers_a_request_that_was_on_its_way) {
  serve_get("/", [](HttpExchange& exchange) { exchange.respond(200, "", "hello"); }, {.drain_grace = kLong});
  RawPeer one = peer_sending(kGet);
  ASSERT_TRUE(hears(one, "hello"));
  std::promise<DrainReport> report;
  server().drain(kLong, [&](const DrainReport& done) { report.set_value(done); });
  // Connections learn of the drain after the listeners are closed. Requests are answered until then, and one more
  // afterwards.
  size_t asked = 1;
  ASSERT_TRUE(wait_until([&] {
    const bool ended = !one.pump();
    const bool told = test::count_of(one.received(), "Connection: close") == 1;
    if (!ended && !told && test::count_of(one.received(), "hello") == asked) {
      one.send(kGet);
      ++asked;
    }
    return ended;
  }));
  EXPECT_EQ(test::count_of(one.received(), "Connection: close"), 1u);
  EXPECT_EQ(test::count_of(one.received(), "hello"), asked);
  one.close();
  EXPECT_EQ(report.get_future().get().forced, 0u);
}

// Echoes the input in capitals.
class Shouter final : public UpgradeHandler {
 public:
  explicit Shouter(test::Journal& journal) : journal_(journal) {}
  void on_start(Connection& connection) override { connection.send("(started)"); }
  void on_data(Connection& connection, Buffer& input) override {
    std::string text(input.view());
    input.clear();
    for (char& byte : text) byte = static_cast<char>(std::toupper(byte));
    connection.send(text);
  }
  void on_close(Connection&, CloseReason reason) override { journal_.add(std::string(to_string(reason))); }

 private:
  test::Journal& journal_;
};

TEST_P(HttpExchangeLifeTest, upgrade_hands_over_the_connection_with_what_the_client_sent_already) {
  test::Journal ends;
  Router router;
  router.get("/", [&](HttpExchange& exchange) {
    exchange.set_field("X-Extra", "yes");
    exchange.upgrade("shout", std::make_unique<Shouter>(ends));
  });
  router.get("/later", left_unanswered());
  router.add("CONNECT", "/", [&](HttpExchange& exchange) { exchange.upgrade("", std::make_unique<Shouter>(ends)); });
  serve(std::move(router));
  RawPeer one = peer_sending("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\nearly ");
  ASSERT_TRUE(hears(one, "(started)EARLY "));
  EXPECT_EQ(test::undated(one.received()).substr(0, one.received().find("\r\n\r\n") - 26),
            "HTTP/1.1 101 Switching Protocols\r\nDate: now\r\nX-Extra: yes\r\nConnection: Upgrade\r\nUpgrade: shout");
  one.send("late");
  ASSERT_TRUE(hears(one, "LATE"));
  one.fin();
  all_of(one);
  one.close();
  ASSERT_TRUE(wait_until([&] { return ends.lines().size() == 1; }));
  RawPeer tunnel = peer_sending("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\nthrough");
  ASSERT_TRUE(hears(tunnel, "(started)THROUGH"));
  EXPECT_THAT(tunnel.received(), testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), Not(HasSubstr("Upgrade"))));
  RawPeer later = peer_sending("GET /later HTTP/1.1\r\nHost: a\r\n\r\nmore");
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  unanswered[0].run([&](HttpExchange& exchange) { exchange.upgrade("shout", std::make_unique<Shouter>(ends)); });
  ASSERT_TRUE(hears(later, "(started)MORE"));
  EXPECT_EQ(server().stats().upgraded, 3u);
  end_server();
}

TEST_P(HttpExchangeLifeTest, interim_answer_comes_before_the_final_one_and_takes_its_fields_along) {
  serve_get("/", [](HttpExchange& exchange) {
    exchange.set_field("Link", "</style.css>; rel=preload");
    exchange.inform(103);
    exchange.respond(200, "", "page");
  });
  EXPECT_EQ(answer_to("GET", "/"),
            "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
            "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage");
  EXPECT_THAT(answer_to("GET / HTTP/1.0\r\n\r\n"), Not(HasSubstr("103")));
}

PEAL_TEST_ON_EVERY_PORT(HttpExchangeLifeTest);

}  // namespace
}  // namespace peal
