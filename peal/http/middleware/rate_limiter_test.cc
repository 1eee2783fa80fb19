// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/middleware/rate_limiter.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <peal/http/server/http_server.h>
#include <peal/loop/loop_group.h>
#include <tests/support/http_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kBegin{seconds(1000)};

TEST(RateLimiter, admits_a_burst_and_then_one_at_a_time) {
  RateLimiter limiter({.requests = 10, .per = seconds(1), .burst = 3});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.admit("a", kBegin), Duration{}) << i;
  EXPECT_EQ(limiter.admit("a", kBegin), milliseconds(100));
  EXPECT_EQ(limiter.admit("a", kBegin + milliseconds(99)), milliseconds(1));
  EXPECT_EQ(limiter.admit("a", kBegin + milliseconds(100)), Duration{});
  EXPECT_EQ(limiter.admit("a", kBegin + milliseconds(100)), milliseconds(100));
  EXPECT_EQ(limiter.admit("b", kBegin + milliseconds(100)), Duration{});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.admit("a", kBegin + seconds(60)), Duration{}) << i;
  EXPECT_GT(limiter.admit("a", kBegin + seconds(60)), Duration{});
  EXPECT_EQ(limiter.admitted(), 8U);
  EXPECT_EQ(limiter.refused(), 4U);
}

TEST(RateLimiter, over_any_time_no_more_than_its_rate) {
  RateLimiter limiter({.requests = 7, .per = milliseconds(13)});
  size_t admitted = 0;
  for (int64_t at = 0; at < 1'300'000; at += 100) {
    if (limiter.admit("key", kBegin + Duration(at * 1000)) == Duration{}) ++admitted;
  }
  EXPECT_GE(admitted, 700U);
  EXPECT_LE(admitted, 700U + 7U + 1U);
}

TEST(RateLimiter, keys_of_every_length_have_limits_of_their_own) {
  RateLimiter limiter({.requests = 1, .per = seconds(1)});
  std::string key;
  for (size_t length = 0; length < 200; ++length) {
    EXPECT_EQ(limiter.admit(key, kBegin), Duration{}) << length;
    EXPECT_GT(limiter.admit(key, kBegin), Duration{}) << length;
    key += '\0';
  }
}

TEST(RateLimiter, table_that_is_full_forgets_whoever_has_been_quiet_for_longest) {
  RateLimiter limiter({.requests = 1, .per = seconds(1), .keys = 8});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limiter.admit(std::to_string(i), kBegin + milliseconds(i)), Duration{});
  EXPECT_GT(limiter.admit("99", kBegin + milliseconds(100)), Duration{});
  EXPECT_EQ(limiter.admit("0", kBegin + milliseconds(100)), Duration{});
}

TEST(RateLimiter, threads_together_have_one_limit) {
  RateLimiter limiter({.requests = 1000, .per = std::chrono::hours(1)});
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) limiter.admit("all", kBegin);
    });
  }
  threads.clear();
  EXPECT_EQ(limiter.admitted(), 1000U);
  EXPECT_EQ(limiter.refused(), 3000U);
}

// Each takes the time of its own turn, so that what one says may be before what another one has said.
TEST(RateLimiter, loops_together_have_one_limit) {
  RateLimiter limiter({.requests = 1000, .per = std::chrono::hours(1)});
  {
    const auto loops = LoopGroup::start(4).value();
    for (int turn = 0; turn < 100; ++turn) {
      for (size_t i = 0; i < loops->size(); ++i) {
        Loop& loop = (*loops)[i];
        ASSERT_TRUE(loop.post([&] {
          for (int n = 0; n < 10; ++n) limiter.admit("all", loop.now());
        }));
      }
    }
    loops->stop();
    loops->join();
  }
  EXPECT_GE(limiter.admitted(), 1000U);
  EXPECT_LE(limiter.admitted(), 1100U) << "which take six minutes";
  EXPECT_EQ(limiter.admitted() + limiter.refused(), 4000U);
}

TEST(RateLimiter, limits_that_are_none_are_refused) {
  EXPECT_THROW(RateLimiter({.requests = 0}), std::invalid_argument);
  EXPECT_THROW(RateLimiter({.per = Duration{}}), std::invalid_argument);
  EXPECT_THROW(RateLimiter({.keys = 0}), std::invalid_argument);
  RateLimiter widest({.requests = UINT32_MAX, .per = Duration::max(), .burst = UINT32_MAX});
  EXPECT_EQ(widest.admit("a", kBegin), Duration{});
}

using RateLimitSimTest = test::SimTest;

TEST_F(RateLimitSimTest, is_429_with_the_time_to_wait_by_address_or_by_key) {
  on_seeds(3, rough(), [](test::SimPair& pair) {
    Router router;
    const auto limiter = std::make_shared<RateLimiter>(RateLimiterOptions{.requests = 2, .per = seconds(10)});
    router.group("").get("/free", [](HttpExchange& exchange) { exchange.respond(200, "", "free"); });
    RouteGroup limited = router.group("/limited");
    limited.use(rate_limit(limiter));
    limited.get("", [](HttpExchange& exchange) { exchange.respond(200, "", "limited"); });
    RouteGroup keyed = router.group("/keyed");
    keyed.use(rate_limit(limiter, [](const HttpExchange& exchange) {
      return std::string(exchange.request().find("X-Key").value_or(""));
    }));
    keyed.get("", [](HttpExchange& exchange) { exchange.respond(200, "", "keyed"); });
    HttpServer server(*pair.here, std::move(router));
    std::string requests;
    for (int i = 0; i < 3; ++i) requests += "GET /limited HTTP/1.1\r\nHost: a\r\n\r\n";
    requests += "GET /free HTTP/1.1\r\nHost: a\r\n\r\n";
    for (const std::string_view key : {"one", "one", "one", "two", ""}) {
      requests += fmt::format("GET /keyed HTTP/1.1\r\nHost: a\r\nX-Key: {}\r\n\r\n", key);
    }
    std::string got;
    Client client(*pair.there, {.on_open = [&](Connection& connection) { connection.send(requests); },
                                .on_message = test::hearing(got)});
    EXPECT_TRUE(client.connect(pair.listen(server)));
    ASSERT_TRUE(pair.run_until([&] { return got.ends_with("keyed") && got.find("free") != std::string::npos; }));
    pair.world.run_for(seconds(1));
    EXPECT_EQ(test::count_of(got, "\r\n\r\nlimited"), 2U);
    EXPECT_EQ(test::count_of(got, "\r\n\r\nkeyed"), 4U);
    EXPECT_EQ(test::count_of(got, "HTTP/1.1 429 "), 2U);
    EXPECT_EQ(test::count_of(got, "Retry-After: 5\r\n"), 2U);
  });
}

}  // namespace
}  // namespace peal
