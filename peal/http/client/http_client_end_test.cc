// SPDX-License-Identifier: BSD-3-Clause
// Requests that end on this side at any moment: by cancel(), because the client is destroyed, because a callback
// throws, or because the loop ends. No callback is called afterwards, and no connection or memory is left.
#include <stdexcept>

#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;

// How far a request has come when it is ended.
enum class Moment : uint8_t { kQueued, kConnecting, kAsked, kHead, kBody, kUploading, kExpecting, kTunnel };

class HttpClientEndTest : public test::HttpClientTest {
 protected:
  // Begins a request and runs the loop until the request has come as far as `moment`. The test fails if a callback
  // other than on_head and on_body is called.
  HttpFetchId bring(Moment moment) {
    client_options.most_per_origin = 1;
    HttpScript& its_server = serve(nullptr);
    server = &its_server;
    its_server.on_head = [this, moment](Connection& connection, std::string_view) {
      ++heads;
      if (moment == Moment::kHead) connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
      if (moment == Moment::kBody) connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
      if (moment == Moment::kTunnel) connection.send("HTTP/1.1 101 OK\r\n\r\nabc");
    };
    if (moment == Moment::kQueued) {
      EXPECT_TRUE(client().fetch(HttpClientRequest(its_server.url()), [](auto) {}));
      EXPECT_TRUE(run_until([&] { return heads == 1; }));
    }
    HttpClientRequest request("PUT", its_server.url());
    request.streamed = moment == Moment::kUploading || moment == Moment::kExpecting;
    request.expects_continue = moment == Moment::kExpecting;
    request.may_upgrade = moment == Moment::kTunnel;
    const auto id = client().start(std::move(request), {.on_head = [this](HttpFetch&, const auto&) { has_head = true; },
                                                        .on_body = [this](HttpFetch&, auto) { has_body = true; },
                                                        .on_writable = [](HttpFetch&) { ADD_FAILURE(); },
                                                        .on_done = [](const auto&) { ADD_FAILURE(); }});
    EXPECT_TRUE(id);
    switch (moment) {
      case Moment::kQueued:
      case Moment::kConnecting: break;
      case Moment::kAsked: EXPECT_TRUE(run_until([&] { return heads == 1; })); break;
      case Moment::kHead: EXPECT_TRUE(run_until([&] { return has_head; })); break;
      case Moment::kBody:
      case Moment::kTunnel: EXPECT_TRUE(run_until([&] { return has_body; })); break;
      case Moment::kExpecting: client().find(*id)->write("kept"); [[fallthrough]];
      case Moment::kUploading:
        EXPECT_TRUE(run_until([&] { return heads == 1; }));
        if (moment == Moment::kUploading) client().find(*id)->write("sent");
    }
    return id.value_or(HttpFetchId::kNone);
  }
  static std::vector<Moment> every_moment() {
    return {Moment::kQueued, Moment::kConnecting, Moment::kAsked,     Moment::kHead,
            Moment::kBody,   Moment::kUploading,  Moment::kExpecting, Moment::kTunnel};
  }
  // Destroys the client and resets the counters, before the next moment is tried.
  void forget() {
    drop_client();
    EXPECT_TRUE(run_until([&] { return server->open() == 0; }));
    heads = 0;
    has_head = has_body = false;
  }

  HttpScript* server = nullptr;
  int heads = 0;
  bool has_head = false;
  bool has_body = false;
};

TEST_P(HttpClientEndTest, cancelled_at_any_moment) {
  for (const Moment moment : every_moment()) {
    const HttpFetchId id = bring(moment);
    EXPECT_TRUE(client().cancel(id));
    EXPECT_FALSE(client().cancel(id));
    EXPECT_EQ(client().find(id), nullptr);
    const size_t left = moment == Moment::kQueued ? 1 : 0;
    EXPECT_EQ(client().stats().connections, left) << static_cast<int>(moment);
    EXPECT_EQ(client().stats().waiting, 0u);
    EXPECT_EQ(client().stats().cancelled, 1u);
    ASSERT_TRUE(run_until([&] { return server->open() == left; })) << static_cast<int>(moment);
    forget();
  }
}

TEST_P(HttpClientEndTest, the_client_is_destroyed_at_any_moment) {
  for (const Moment moment : every_moment()) {
    bring(moment);
    forget();
  }
}

TEST_P(HttpClientEndTest, cancelled_and_destroyed_inside_its_own_callbacks) {
  HttpScript& its_server =
      serve_text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
  server = &its_server;
  for (const std::string_view where : {"head", "body", "done"}) {
    for (const bool destroyed : {false, true}) {
      int calls = 0;
      const auto end_it = [&](std::string_view here, HttpFetch* fetch) {
        EXPECT_EQ(calls, 0) << "after the end";
        if (here != where) return;
        ++calls;
        if (destroyed) return drop_client();
        if (fetch != nullptr) fetch->cancel();
      };
      const auto id = client().start(HttpClientRequest(its_server.url()),
                                     {.on_head = [&](HttpFetch& fetch, const auto&) { end_it("head", &fetch); },
                                      .on_body = [&](HttpFetch& fetch, auto) { end_it("body", &fetch); },
                                      .on_done = [&](const auto&) { end_it("done", nullptr); }});
      ASSERT_TRUE(id);
      ASSERT_TRUE(run_until([&] { return calls == 1; })) << where;
      settle();
      forget();
    }
  }
}

TEST_P(HttpClientEndTest, destroyed_inside_the_failure_of_a_connect) {
  bool told = false;
  ASSERT_TRUE(client().fetch(HttpClientRequest("http://127.0.0.1:1/"), [&](const Result<HttpResponse>& answer) {
    EXPECT_FALSE(answer);
    told = true;
    drop_client();
  }));
  ASSERT_TRUE(run_until([&] { return told; }));
  settle();
}

TEST_P(HttpClientEndTest, the_next_request_is_begun_inside_the_end_of_the_one_before) {
  HttpScript& its_server = serve_text(http_ok("x"));
  int left = 5;
  std::function<void(Result<HttpResponse>)> next = [&](const Result<HttpResponse>& answer) {
    ASSERT_TRUE(answer);
    if (--left > 0) {
      EXPECT_TRUE(client().fetch(HttpClientRequest(its_server.url()), next));
    }
  };
  ASSERT_TRUE(client().fetch(HttpClientRequest(its_server.url()), next));
  ASSERT_TRUE(run_until([&] { return left == 0; }));
  EXPECT_EQ(its_server.opened(), 1u);
}

TEST_P(HttpClientEndTest, a_callback_that_throws_ends_its_connection) {
  HttpScript& its_server = serve_text(http_ok("x"));
  for (const std::string_view where : {"head", "body"}) {
    const auto throw_at = [&](std::string_view here) {
      if (here == where) throw std::runtime_error("no");
    };
    begin_fetch(HttpClientRequest(its_server.url()), {.on_head = [&](HttpFetch&, const auto&) { throw_at("head"); },
                                                      .on_body = [&](HttpFetch&, auto) { throw_at("body"); }});
    ASSERT_TRUE(fetch_ends()) << where;
    EXPECT_EQ(fetched->error(), errno_code(ECONNABORTED));
    EXPECT_EQ(client().stats().connections, 0u);
  }
  bool thrown = false;
  ASSERT_TRUE(client().fetch(HttpClientRequest(its_server.url()), [&](const auto&) {
    thrown = true;
    throw std::runtime_error("no");
  }));
  ASSERT_TRUE(run_until([&] { return thrown; }));
  EXPECT_TRUE(fetch(HttpClientRequest(its_server.url()))) << "the client goes on";
}

// When on_done is called, the connection carries another request already, which must not fail.
TEST_P(HttpClientEndTest, what_leaves_on_done_ends_no_other_request) {
  HttpScript& its_server = serve_text(http_ok("x"));
  client_options.most_per_origin = 1;
  const auto throws = [](const auto&) { throw std::runtime_error("no"); };
  std::optional<Result<HttpResponse>> other;
  ASSERT_TRUE(client().fetch(HttpClientRequest(its_server.url()), throws));
  ASSERT_TRUE(client().fetch(HttpClientRequest("POST", its_server.url()),
                             [&](Result<HttpResponse> answer) { other = std::move(answer); }));
  ASSERT_TRUE(run_until([&] { return other.has_value(); }));
  EXPECT_TRUE(*other) << other->error().message();
  EXPECT_EQ(its_server.opened(), 1u);
}

TEST_P(HttpClientEndTest, the_loop_ends_meanwhile) {
  HttpScript& its_server = serve(nullptr);
  std::optional<std::error_code> error;
  ASSERT_TRUE(client().fetch(HttpClientRequest(its_server.url()), [&](Result<HttpResponse> answer) {
    error = answer ? std::error_code() : answer.error();
  }));
  ASSERT_TRUE(run_until([&] { return its_server.requests().size() == 1; }));
  end_loop();
  EXPECT_EQ(error, std::error_code(Trouble::kLoopStopped));
  const auto late = client().fetch(HttpClientRequest(its_server.url()), [](auto) { ADD_FAILURE(); });
  EXPECT_EQ(late.error(), Trouble::kLoopStopped);
  EXPECT_FALSE(client().cancel(HttpFetchId(1)));
}

TEST_P(HttpClientEndTest, a_client_that_outlives_its_loop_with_requests_of_every_kind) {
  for (const Moment moment : {Moment::kQueued, Moment::kConnecting}) bring(moment);
  end_loop();
  drop_client();
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpClientEndTest);

}  // namespace
}  // namespace peal
