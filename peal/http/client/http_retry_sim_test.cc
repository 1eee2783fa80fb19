// SPDX-License-Identifier: BSD-3-Clause
// When requests are repeated, to the millisecond, and how the budget limits requests to a server that is down. The
// tests run in virtual time.
#include <vector>

#include <peal/http/client/http_client.h>
#include <tests/support/http_script.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HttpScript;
using test::SimPair;
using Request = HttpScript::Request;

class HttpRetrySimTest : public test::SimTest {
 protected:
  HttpRetrySimTest() {
    options_.retry.attempts = 4;
    options_.retry.first_delay = seconds(1);
    options_.retry.longest_delay = seconds(2);
  }
  // Sends one request to a server that always sends `answer`. Returns when the attempts arrived, counted from the first
  // one, and stores the result in outcome_ and took_.
  std::vector<Duration> asked_at(SimPair& pair, const std::string& answer) {
    std::vector<TimePoint> times;
    HttpScript server(*pair.here, [&](Connection& connection, const Request&) {
      times.push_back(pair.here->now());
      connection.send(answer);
    });
    HttpClient client(*pair.there, options_);
    bool done = false;
    EXPECT_TRUE(client.fetch(HttpClientRequest(server.url()), [&](Result<HttpResponse> response) {
      done = true;
      outcome_ = response ? response->head.reason() : response.error().message();
    }));
    const TimePoint begun = pair.there->now();
    EXPECT_TRUE(pair.run_until([&] { return done; }));
    took_ = pair.there->now() - begun;
    std::vector<Duration> after;
    for (const TimePoint time : times) after.push_back(time - times.front());
    return after;
  }
  static std::string later(const std::string& fields) {
    return "HTTP/1.1 503 Later\r\n" + fields + "Content-Length: 0\r\n\r\n";
  }

  HttpClientOptions options_;
  std::string outcome_;
  Duration took_{};
};

constexpr Duration kSlack = milliseconds(50);  // the delays of the network and of the timer's ticks

TEST_F(HttpRetrySimTest, delays_double_and_are_drawn_from_their_whole_length) {
  Duration least = seconds(99);
  Duration most = {};
  on_seeds(40, {}, [&](SimPair& pair) {
    const auto times = asked_at(pair, later(""));
    ASSERT_EQ(times.size(), 4u);
    EXPECT_LE(times[1], seconds(1) + kSlack);
    EXPECT_LE(times[2] - times[1], seconds(2) + kSlack);
    EXPECT_LE(times[3] - times[2], seconds(2) + kSlack);
    least = std::min(least, times[1]);
    most = std::max(most, times[1]);
  });
  if (all_seeds()) {
    EXPECT_LT(least, milliseconds(200));
    EXPECT_GT(most, milliseconds(800));
  }
}

TEST_F(HttpRetrySimTest, one_seed_draws_the_same_delays_again) {
  options_.retry.seed = 7;
  std::vector<Duration> first;
  on_seeds(2, {}, [&](SimPair& pair) {
    const auto times = asked_at(pair, later(""));
    if (first.empty()) first = times;
    ASSERT_EQ(times.size(), first.size());
    for (size_t at = 0; at < times.size(); ++at) {
      EXPECT_LT(times[at] > first[at] ? times[at] - first[at] : first[at] - times[at], kSlack);
    }
  });
}

TEST_F(HttpRetrySimTest, a_server_that_names_its_time_is_not_asked_before) {
  on_seeds(10, {}, [&](SimPair& pair) {
    for (const char* fields : {"Retry-After: 5\r\n",
                               "Date: Wed, 25 Nov 2026 12:00:00 GMT\r\n"
                               "Retry-After: Wed, 25 Nov 2026 12:00:05 GMT\r\n"}) {
      const auto times = asked_at(pair, later(fields));
      ASSERT_EQ(times.size(), 4u) << fields;
      EXPECT_GE(times[1], seconds(5));
      EXPECT_LE(times[1], seconds(6) + kSlack);
      EXPECT_GE(times[3] - times[2], seconds(5));
      EXPECT_LE(times[3] - times[2], seconds(7) + kSlack);
    }
    // A time in the past and values that are no time do not delay the next attempt.
    for (const char* fields :
         {"Retry-After: 0\r\n", "Retry-After: soon\r\n", "Retry-After: -5\r\n", "Retry-After:\r\n",
          "Date: Wed, 25 Nov 2026 12:00:00 GMT\r\nRetry-After: Wed, 25 Nov 1026 12:00:05 GMT\r\n"}) {
      const auto times = asked_at(pair, later(fields));
      ASSERT_EQ(times.size(), 4u) << fields;
      EXPECT_LE(times[1], seconds(1) + kSlack);
    }
  });
}

TEST_F(HttpRetrySimTest, one_that_names_a_time_far_away_has_answered) {
  on_seeds(3, {}, [&](SimPair& pair) {
    for (const char* fields :
         {"Retry-After: 31\r\n", "Retry-After: 99999999999\r\n", "Retry-After: 99999999999999999999999999\r\n",
          "Date: Wed, 25 Nov 2026 12:00:00 GMT\r\nRetry-After: Wed, 25 Nov 9999 12:00:05 GMT\r\n"}) {
      EXPECT_EQ(asked_at(pair, later(fields)).size(), 1u) << fields;
      EXPECT_EQ(outcome_, "Later");
      EXPECT_LT(took_, seconds(1));
    }
  });
}

TEST_F(HttpRetrySimTest, no_wait_leads_beyond_the_deadline_of_it_all) {
  options_.deadlines.total = seconds(3);
  on_seeds(20, {}, [&](SimPair& pair) {
    EXPECT_EQ(asked_at(pair, later("Retry-After: 2\r\n")).size(), 2u);
    EXPECT_EQ(outcome_, "Later") << "the answer is better than a timeout that is bound to come";
    EXPECT_LT(took_, seconds(3));
    EXPECT_EQ(asked_at(pair, "").size(), 1u) << "a server that is silent";
    EXPECT_EQ(outcome_, make_error_code(HttpTrouble::kTotalTimeout).message());
    EXPECT_GE(took_, seconds(3));
    EXPECT_LE(took_, seconds(3) + kSlack);
  });
}

TEST_F(HttpRetrySimTest, a_server_that_is_down_is_asked_a_fifth_more_and_not_four_times_as_often) {
  constexpr size_t kRequests = 1000;
  on_seeds(3, {}, [&](SimPair& pair) {
    HttpScript server(*pair.here, [](Connection& connection, const Request&) {
      connection.send("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n");
    });
    HttpClient client(*pair.there, options_);
    size_t ended = 0;
    for (size_t at = 0; at < kRequests; ++at) {
      pair.there->after(milliseconds(100 * at), [&] {
        EXPECT_TRUE(client.fetch(HttpClientRequest(server.url()), [&](const Result<HttpResponse>&) { ++ended; }));
      });
    }
    EXPECT_TRUE(pair.run_until([&] { return ended == kRequests; }));
    const double most = options_.retry.budget + options_.retry.budget_share * kRequests;
    EXPECT_LE(static_cast<double>(client.stats().retried), most);
    EXPECT_GE(static_cast<double>(client.stats().retried), most - 2);
    EXPECT_EQ(server.requests().size(), kRequests + client.stats().retried);
    EXPECT_GT(client.stats().unpaid, 0u);
  });
}

TEST_F(HttpRetrySimTest, in_a_hostile_network_each_request_ends_once) {
  options_.retry.attempts = 5;
  options_.retry.budget = 1000;
  options_.retry.attempt_timeout = seconds(5);
  options_.client.connect_timeout = seconds(2);
  size_t answered = 0;
  on_seeds(20, SimOptions::hostile(), [&](SimPair& pair) {
    const double no_fd = std::exchange(pair.world.options().no_fd, 0);
    HttpScript server(*pair.here,
                      [at = 0](Connection& connection, const Request&) mutable {
                        connection.send(++at % 3 == 0 ? later("") : test::http_ok("yes"));
                      },
                      "127.0.0.1:0", {.connection = {.idle_timeout = std::chrono::minutes(10)}});
    pair.world.options().no_fd = no_fd;
    std::vector<int> ended(50);
    {
      HttpClient client(*pair.there, options_);
      for (size_t at = 0; at < ended.size(); ++at) {
        pair.there->after(milliseconds(at * 3), [&, at] {
          EXPECT_TRUE(client.fetch(HttpClientRequest(server.url()), [&, at](const Result<HttpResponse>& response) {
            ++ended[at];
            if (response && response->body == "yes") ++answered;
          }));
        });
      }
      EXPECT_TRUE(pair.run_until([&] { return std::ranges::find(ended, 0) == ended.end(); }, std::chrono::hours(2)));
      pair.run_for(std::chrono::minutes(1));
      for (const int times : ended) EXPECT_EQ(times, 1);
      EXPECT_EQ(client.stats().waiting, 0u);
      EXPECT_EQ(client.stats().answered + client.stats().failed, ended.size());
    }
    EXPECT_TRUE(pair.run_until([&] { return server.open() == 0; }));
  });
  if (all_seeds()) {
    EXPECT_GT(answered, 800u);
  }
}

}  // namespace
}  // namespace peal
