// SPDX-License-Identifier: BSD-3-Clause
// Which requests are repeated, after which errors, how often, and which answers are shown.
#include <gmock/gmock.h>

#include <peal/coro/scope.h>
#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::http_ok;
using test::HttpScript;
using testing::ElementsAre;

std::string unavailable(std::string_view fields = {}, int status = 503) {
  return fmt::format("HTTP/1.1 {} Later\r\n{}Content-Length: 5\r\n\r\nlater", status, fields);
}

class HttpRetryTest : public test::HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    client_options.retry.attempts = 3;
    client_options.retry.first_delay = milliseconds(2);
    client_options.retry.longest_delay = milliseconds(4);
  }
  // Starts a server that answers the first requests with these texts in turn, and all later ones with "done".
  HttpScript& serve_first(std::vector<std::string> texts) {
    return serve([texts = std::move(texts), at = size_t{0}](Connection& connection, const Request&) mutable {
      const std::string text = at < texts.size() ? texts[at++] : http_ok("done");
      connection.send(text);
      if (text.empty()) connection.abort();
    });
  }
  std::string outcome(HttpClientRequest request) {
    const auto answer = fetch(std::move(request));
    return answer ? fmt::format("{} {}", answer->status(), answer->body) : answer.error().message();
  }
};

TEST_P(HttpRetryTest, answers_that_are_none_yet_are_asked_for_again) {
  HttpScript& server = serve_first({unavailable(), unavailable({}, 429)});
  EXPECT_EQ(outcome(HttpClientRequest("PUT", server.url("/x"), "body")), "200 done");
  EXPECT_THAT(server.asked(), ElementsAre("PUT /x", "PUT /x", "PUT /x"));
  for (const Request& request : server.requests()) EXPECT_EQ(request.body, "body");
  EXPECT_EQ(server.opened(), 1u) << "the connection is kept meanwhile";
  EXPECT_EQ(client().stats().retried, 2u);
  EXPECT_EQ(client().stats().requests, 1u);
  EXPECT_EQ(client().stats().answered, 1u);
}

TEST_P(HttpRetryTest, the_last_attempts_answer_is_the_answer) {
  HttpScript& server = serve_text(unavailable());
  EXPECT_EQ(outcome(HttpClientRequest(server.url())), "503 later");
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_P(HttpRetryTest, off_nothing_is_repeated) {
  client_options.retry = {};
  HttpScript& server = serve_first({unavailable()});
  EXPECT_EQ(outcome(HttpClientRequest(server.url())), "503 later");
}

TEST_P(HttpRetryTest, what_may_do_harm_twice_is_asked_once_unless_it_says_otherwise) {
  HttpScript& server = serve_first({unavailable(), unavailable(), unavailable()});
  EXPECT_EQ(outcome(HttpClientRequest("POST", server.url(), "x")), "503 later");
  HttpClientRequest never(server.url());
  never.repeats = HttpRepeats::kNone;
  EXPECT_EQ(outcome(never), "503 later");
  HttpClientRequest always("POST", server.url(), "x");
  always.repeats = HttpRepeats::kAlways;
  EXPECT_EQ(outcome(always), "200 done");
  EXPECT_EQ(client().stats().retried, 1u);
}

TEST_P(HttpRetryTest, a_body_that_is_streamed_is_sent_once) {
  HttpScript& server = serve_first({unavailable()});
  HttpClientRequest request("PUT", server.url());
  request.streamed = true;
  request.repeats = HttpRepeats::kAlways;
  int status = 0;
  const HttpFetchId id =
      begin_fetch(request, {.on_head = [&](HttpFetch&, const auto& head) { status = head.status(); }});
  client().find(id)->end_body();
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(status, 503);
}

TEST_P(HttpRetryTest, a_server_that_closes_or_resets_is_asked_again) {
  HttpScript& server = serve_first({"", ""});
  EXPECT_EQ(outcome(HttpClientRequest(server.url())), "200 done");
  EXPECT_EQ(server.requests().size(), 3u);
  HttpScript& other = serve_first({"", ""});
  EXPECT_EQ(outcome(HttpClientRequest("POST", other.url(), "x")), "the server closed before its answer was complete");
}

TEST_P(HttpRetryTest, where_no_connection_comes_about_a_post_too_is_tried_again) {
  std::string url;
  {
    Server nobody(loop(), {});
    url = "http://" + nobody.listen("127.0.0.1:0").value().to_string() + "/";
  }
  EXPECT_EQ(outcome(HttpClientRequest("POST", url, "x")), errno_code(ECONNREFUSED).message());
  EXPECT_EQ(client().stats().retried, 2u);
  EXPECT_EQ(client().stats().connect_failed, 3u);
}

TEST_P(HttpRetryTest, an_answer_that_breaks_off_begins_anew_where_it_is_collected) {
  const std::string half = "HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 10\r\n\r\nhalf";
  const auto serve_halves = [&]() -> HttpScript& {
    return serve([&, at = 0](Connection& connection, const Request&) mutable {
      connection.send(at++ < 2 ? half : http_ok("whole"));
      if (at <= 2) connection.close();
    });
  };
  EXPECT_EQ(outcome(HttpClientRequest(serve_halves().url())), "200 whole");
  // start() shows the body as it arrives, so that the request cannot be repeated after that.
  HttpScript& server = serve_halves();
  std::string got;
  begin_fetch(HttpClientRequest(server.url()), {.on_body = [&](HttpFetch&, auto bytes) { got += bytes; }});
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(got, "half");
  EXPECT_EQ(fetched->error(), HttpTrouble::kClosedEarly);
}

TEST_P(HttpRetryTest, what_is_malformed_or_refused_is_not_asked_again) {
  HttpScript& server = serve_first({"HTP/1.1 200 OK\r\n\r\n"});
  EXPECT_TRUE(is_malformed_answer(error_of_fetch(HttpClientRequest(server.url()))));
  HttpScript& missing = serve_text("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(outcome(HttpClientRequest(missing.url())), "404 ");
  EXPECT_EQ(missing.requests().size(), 1u);
}

TEST_P(HttpRetryTest, a_request_that_ends_between_two_attempts_is_not_counted_as_waiting) {
  client_options.most_waiting = 1;
  HttpScript& server = serve_text(unavailable("Retry-After: 20\r\n"));
  for (const bool by_cancel : {true, false}) {
    const HttpFetchId id = begin_fetch(HttpClientRequest(server.url()), {});
    ASSERT_TRUE(run_until([&] { return client().stats().waiting == 1 && client().stats().idle == 1; }));
    if (by_cancel) {
      EXPECT_TRUE(client().cancel(id));
    } else {
      EXPECT_FALSE(client().find(id)->write("a body that the request does not have"));
    }
    EXPECT_EQ(client().stats().waiting, 0u) << "before on_done";
  }
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(fetched->error(), HttpTrouble::kBadRequest);
  EXPECT_EQ(client().stats().waiting, 0u);
}

TEST_P(HttpRetryTest, an_attempt_has_a_time_of_its_own) {
  if (GetParam() != "sim") GTEST_SKIP() << "an attempt may take longer on a machine that is busy";
  client_options.retry.attempt_timeout = milliseconds(20);
  HttpScript& server = serve([at = 0](Connection& connection, const Request&) mutable {
    if (at++ > 0) connection.send(http_ok("done"));
  });
  EXPECT_EQ(outcome(HttpClientRequest(server.url())), "200 done");
  HttpScript& silent = serve(nullptr);
  EXPECT_EQ(error_of_fetch(HttpClientRequest(silent.url())), HttpTrouble::kAttemptTimeout);
  EXPECT_EQ(silent.requests().size(), 3u);
  EXPECT_EQ(client().stats().connections, 1u);
  // With start(), attempt_timeout counts only until the head has arrived.
  HttpScript& slow = serve([this](Connection& connection, const Request&) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n");
    loop().after(milliseconds(50), [handle = connection.handle()] { handle.send("x"); });
  });
  begin_fetch(HttpClientRequest(slow.url()), {});
  ASSERT_TRUE(fetch_ends());
  EXPECT_TRUE(*fetched);
}

TEST_P(HttpRetryTest, redirects_are_kept_and_the_last_place_is_asked_again) {
  HttpScript& there = serve_first({unavailable()});
  HttpScript& here = serve_text("HTTP/1.1 307 There\r\nContent-Length: 0\r\nLocation: " + there.url("/y") + "\r\n\r\n");
  EXPECT_EQ(outcome(HttpClientRequest(here.url())), "200 done");
  EXPECT_EQ(here.requests().size(), 1u);
  EXPECT_THAT(there.asked(), ElementsAre("GET /y", "GET /y"));
}

// The client does not wait for the end of an answer that is discarded.
TEST_P(HttpRetryTest, an_answer_that_is_none_and_drips) {
  client_options.retry.attempts = 2;
  HttpScript& there = serve([at = 0](Connection& connection, const Request&) mutable {
    connection.send(at++ == 0 ? "HTTP/1.1 503 Later\r\nContent-Length: 900\r\n\r\ndrip" : http_ok("done"));
  });
  HttpScript& here =
      serve_text("HTTP/1.1 307 There\r\nContent-Length: 900\r\nLocation: " + there.url() + "\r\n\r\ndrip");
  EXPECT_EQ(outcome(HttpClientRequest(here.url())), "200 done");
  EXPECT_EQ(client().stats().connections, 1u);
}

TEST_P(HttpRetryTest, cancelled_or_destroyed_amid_a_back_off) {
  client_options.retry.first_delay = client_options.retry.longest_delay = std::chrono::hours(1);
  HttpScript& server = serve_text(unavailable());
  const auto nothing = [](const Result<HttpResponse>&) { ADD_FAILURE(); };
  const auto id = client().fetch(HttpClientRequest(server.url()), nothing);
  ASSERT_TRUE(run_until([&] { return client().stats().idle == 1; }));
  ASSERT_NE(client().find(*id), nullptr);
  client().find(*id)->pause();
  client().find(*id)->resume();
  EXPECT_TRUE(client().cancel(*id));
  EXPECT_EQ(client().stats().cancelled, 1u);
  auto waits = [&]() -> Task<> {
    const HttpClientRequest request(server.url());
    EXPECT_EQ((co_await client().fetch(request)).error(), errno_code(ECANCELED));
  };
  Scope scope(loop());
  scope.spawn(waits());
  ASSERT_TRUE(run_until([&] { return server.requests().size() == 2 && client().stats().idle == 1; }));
  scope.cancel();
  ASSERT_TRUE(run_until([&] { return scope.size() == 0; }));
  ASSERT_TRUE(client().fetch(HttpClientRequest(server.url()), nothing));
  ASSERT_TRUE(run_until([&] { return server.requests().size() == 3 && client().stats().idle == 1; }));
  drop_client();
}

TEST_P(HttpRetryTest, in_a_coroutine_and_as_a_stream) {
  HttpScript& server = serve_first({unavailable(), "", unavailable()});
  auto test = [&]() -> Task<> {
    const HttpClientRequest request(server.url());
    EXPECT_EQ((co_await client().fetch(request)).value().body, "done");
    HttpClientStream stream = client().open(request);
    EXPECT_EQ((co_await stream.head()).value()->status(), 200);
    EXPECT_EQ((co_await stream.read()).value().to_string(), "done");
  };
  Scope scope(loop());
  scope.spawn(test());
  ASSERT_TRUE(run_until([&] { return scope.size() == 0; }));
}

TEST_P(HttpRetryTest, options_that_make_no_sense_are_refused) {
  for (const auto bend : std::initializer_list<void (*)(HttpRetry&)>{
           [](HttpRetry& retry) { retry.budget = -1; }, [](HttpRetry& retry) { retry.budget_share = NAN; },
           [](HttpRetry& retry) { retry.longest_delay = milliseconds(1); }}) {
    HttpClientOptions options = client_options;
    bend(options.retry);
    EXPECT_THROW(HttpClient(loop(), options), std::invalid_argument);
  }
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpRetryTest);

}  // namespace
}  // namespace peal
