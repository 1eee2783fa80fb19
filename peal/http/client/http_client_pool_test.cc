// SPDX-License-Identifier: BSD-3-Clause
// Connections that are kept, the limits of their number, and how long requests wait for them.
#include <gmock/gmock.h>

#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::http_ok;
using test::HttpScript;
using testing::ElementsAre;

class HttpClientPoolTest : public test::HttpClientTest {
 protected:
  // Begins a GET. When it ends, its body or its error is added to `ended`.
  HttpFetchId begin(HttpClientRequest request) {
    const auto id = client().fetch(std::move(request), [this](Result<HttpResponse> answer) {
      ended.push_back(answer ? answer->body : answer.error().message());
    });
    EXPECT_TRUE(id);
    return id.value_or(HttpFetchId::kNone);
  }
  HttpFetchId begin(const std::string& url) { return begin(HttpClientRequest(url)); }

  std::vector<std::string> ended;
};

TEST_P(HttpClientPoolTest, a_connection_is_used_again) {
  HttpScript& server = serve_text(http_ok("x"));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
  EXPECT_EQ(server.opened(), 1u);
  EXPECT_EQ(server.requests().back().number, 5u);
  EXPECT_EQ(client().stats().connected, 1u);
  EXPECT_EQ(client().stats().idle, 1u);
}

TEST_P(HttpClientPoolTest, the_one_used_last_is_used_first) {
  std::vector<ConnectionHandle> held;
  HttpScript& server = serve([&](Connection& connection, const Request& request) {
    if (request.what() == "GET /hold") return held.push_back(connection.handle());
    connection.send(http_ok("x"));
  });
  for (int i = 0; i < 3; ++i) begin(server.url("/hold"));
  ASSERT_TRUE(run_until([&] { return held.size() == 3; }));
  for (const size_t which : {0, 2, 1}) {
    held[which].send(http_ok("y"));
    const size_t before = ended.size();
    ASSERT_TRUE(run_until([&] { return ended.size() > before; }));
  }
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
  for (size_t i = 3; i < 7; ++i) EXPECT_EQ(server.requests()[i].connection, server.requests()[1].connection);
}

TEST_P(HttpClientPoolTest, a_connection_that_is_not_to_be_used_again_is_closed) {
  const char* const answers[] = {
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
      "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n1\r\nx\r\n0\r\n\r\n",
  };
  for (const char* text : answers) {
    HttpScript& server = serve_text(text);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(answer_of(HttpClientRequest(server.url())).body, "x") << text;
    }
    EXPECT_EQ(server.opened(), 2u) << text;
    ASSERT_TRUE(run_until([&] { return server.open() == 0; })) << text;
  }
  HttpScript& server = serve_text(http_ok("x"));
  ASSERT_TRUE(fetch(HttpClientRequest(server.url()).add("connection", "Upgrade, Close")));
  EXPECT_EQ(client().stats().connections, 0u) << "it said so itself";
}

TEST_P(HttpClientPoolTest, what_nobody_asked_for_ends_an_idle_connection) {
  HttpScript& server = serve_text(http_ok("x"));
  ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
  server.each([](Connection& connection) { connection.send(http_ok("a smuggled answer")); });
  ASSERT_TRUE(run_until([&] { return client().stats().connections == 0; }));
  EXPECT_EQ(answer_of(HttpClientRequest(server.url())).body, "x");
}

TEST_P(HttpClientPoolTest, a_server_that_closes_an_idle_connection_is_noticed) {
  HttpScript& server = serve_text(http_ok("x"));
  for (const bool resets : {false, true}) {
    ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
    server.each([&](Connection& connection) {
      if (resets) return connection.abort();
      connection.close();
    });
    ASSERT_TRUE(run_until([&] { return client().stats().connections == 0; }));
  }
  ASSERT_TRUE(fetch(HttpClientRequest("POST", server.url(), "x")));
  EXPECT_EQ(client().stats().repeated, 0u);
}

// http and https with the same host and port are different origins (RFC 6454 4). A request for https must not be sent
// in the clear on an open connection for http.
TEST_P(HttpClientPoolTest, nothing_of_another_scheme_goes_on_a_connection_that_is_kept) {
  std::string place;
  HttpScript& server = serve([&](Connection& connection, const Request& request) {
    if (request.what() != "GET /moved") {
      connection.send(http_ok("x"));
      return;
    }
    connection.send("HTTP/1.1 307 T\r\nLocation: " + place + "\r\nContent-Length: 0\r\n\r\n");
  });
  place = server.secure_url("/secret");
  ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
  ASSERT_EQ(client().stats().idle, 1u);
  EXPECT_EQ(error_of_fetch(HttpClientRequest(place)), HttpTrouble::kNeedsLayer);
  HttpClientRequest another_way(place);
  another_way.connect_to = server.address().to_string();
  EXPECT_EQ(error_of_fetch(std::move(another_way)), HttpTrouble::kNeedsLayer);
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url("/moved"))), HttpTrouble::kNeedsLayer);
  EXPECT_THAT(server.asked(), ElementsAre("GET /", "GET /moved"));
  EXPECT_EQ(server.opened(), 1u);
}

// The rules are in RFC 9110 9.2.2 and RFC 9112 9.3.1.
TEST_P(HttpClientPoolTest, a_request_on_a_dead_connection_is_repeated_once_where_that_does_no_harm) {
  bool dead = false;
  HttpScript& server = serve([&](Connection& connection, const Request& request) {
    if (request.number == 1 && !(dead && request.connection > 1)) {
      connection.send(http_ok(""));
      return;
    }
    if (request.connection % 2 == 0) return connection.abort();
    connection.close();
  });
  ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"}) {
    const size_t before = server.opened();
    EXPECT_TRUE(fetch(HttpClientRequest(method, server.url("/again"), method == std::string("PUT") ? "body" : "")));
    EXPECT_EQ(server.opened(), before + 1) << method;
  }
  EXPECT_EQ(client().stats().repeated, 6u);
  EXPECT_EQ(error_of_fetch(HttpClientRequest("POST", server.url())), HttpTrouble::kClosedEarly);
  ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
  dead = true;
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), HttpTrouble::kClosedEarly) << "once, not for ever";
  EXPECT_EQ(client().stats().repeated, 7u);
}

TEST_P(HttpClientPoolTest, no_repetition_once_a_byte_of_the_answer_came_or_on_a_new_connection) {
  HttpScript& server = serve([&](Connection& connection, const Request& request) {
    if (request.what() == "GET /fine") {
      connection.send(http_ok("x"));
      return;
    }
    if (request.what() == "GET /byte") connection.send("H");
    connection.close();
  });
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url("/new"))), HttpTrouble::kClosedEarly);
  ASSERT_TRUE(fetch(HttpClientRequest(server.url("/fine"))));
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url("/byte"))), HttpTrouble::kClosedEarly);
  EXPECT_THAT(server.asked(), ElementsAre("GET /new", "GET /fine", "GET /byte"));
}

TEST_P(HttpClientPoolTest, no_more_connections_than_allowed_and_everybody_gets_one) {
  client_options.most_per_origin = 3;
  HttpScript& server =
      serve([](Connection& connection, const Request& request) { connection.send(http_ok(request.what().substr(5))); });
  size_t most = 0;
  for (int i = 0; i < 50; ++i) begin(server.url("/" + std::to_string(i)));
  ASSERT_TRUE(run_until([&] {
    most = std::max(most, client().stats().connections);
    return ended.size() == 50;
  }));
  EXPECT_EQ(most, 3u);
  EXPECT_EQ(server.opened(), 3u);
  std::sort(ended.begin(), ended.end());
  EXPECT_EQ(std::unique(ended.begin(), ended.end()), ended.end());
  EXPECT_EQ(client().stats().waiting, 0u);
}

TEST_P(HttpClientPoolTest, one_at_a_time_is_served_in_order) {
  client_options.most_per_origin = 1;
  HttpScript& server = serve_text(http_ok("x"));
  for (int i = 0; i < 5; ++i) begin(server.url("/" + std::to_string(i)));
  ASSERT_TRUE(run_until([&] { return ended.size() == 5; }));
  EXPECT_THAT(server.asked(), ElementsAre("GET /0", "GET /1", "GET /2", "GET /3", "GET /4"));
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpClientPoolTest, the_oldest_idle_connection_makes_room_for_another_origin) {
  client_options.most_connections = 2;
  HttpScript& a = serve_text(http_ok("a"));
  HttpScript& b = serve_text(http_ok("b"));
  HttpScript& c = serve_text(http_ok("c"));
  ASSERT_TRUE(fetch(HttpClientRequest(a.url())));
  run_for(milliseconds(2));
  ASSERT_TRUE(fetch(HttpClientRequest(b.url())));
  ASSERT_TRUE(fetch(HttpClientRequest(c.url())));
  EXPECT_EQ(client().stats().connections, 2u);
  ASSERT_TRUE(run_until([&] { return a.open() == 0; }));
  EXPECT_EQ(b.open(), 1u);
}

TEST_P(HttpClientPoolTest, a_busy_connection_of_one_origin_makes_another_wait) {
  client_options.most_connections = 1;
  ConnectionHandle held;
  HttpScript& a = serve([&](Connection& connection, const Request&) { held = connection.handle(); });
  HttpScript& b = serve_text(http_ok("b"));
  begin(a.url());
  ASSERT_TRUE(run_until([&] { return static_cast<bool>(held); }));
  begin(b.url());
  settle();
  EXPECT_EQ(b.opened(), 0u);
  EXPECT_EQ(client().stats().waiting, 1u);
  held.send(http_ok("a"));
  ASSERT_TRUE(run_until([&] { return ended.size() == 2; }));
  EXPECT_THAT(ended, ElementsAre("a", "b"));
  held = {};
}

// One origin always has waiting requests. The requests of another origin are still served, in the order of their start.
TEST_P(HttpClientPoolTest, a_busy_origin_starves_no_other) {
  for (const bool closes : {false, true}) {
    client_options.most_connections = 1;
    drop_client();
    ended.clear();
    const std::string head = closes ? "HTTP/1.1 200 OK\r\nConnection: close\r\n" : "HTTP/1.1 200 OK\r\n";
    const auto answer = [&](Connection& connection, const Request& request) {
      connection.send(head + "Content-Length: 2\r\n\r\n" + request.what().substr(5));
    };
    HttpScript& a = serve(answer);
    HttpScript& b = serve(answer);
    HttpScript& c = serve(answer);
    begin(a.url("/a1"));
    begin(a.url("/a2"));
    begin(c.url("/c1"));
    begin(b.url("/b1"));
    begin(a.url("/a3"));
    begin(a.url("/a4"));
    begin(c.url("/c2"));
    begin(c.url("/c3"));
    size_t most = 0;
    ASSERT_TRUE(run_until([&] {
      most = std::max(most, client().stats().connections);
      return ended.size() == 8;
    })) << closes
        << testing::PrintToString(ended);
    EXPECT_THAT(ended, ElementsAre("a1", "a2", "c1", "b1", "a3", "a4", "c2", "c3")) << closes;
    EXPECT_EQ(most, 1u);
    EXPECT_EQ(client().stats().waiting, 0u);
  }
}

TEST_P(HttpClientPoolTest, an_origin_that_cannot_be_reached_makes_way_too) {
  client_options.most_connections = 1;
  HttpScript& a = serve_text(http_ok("a"));
  const std::string nowhere = "http://" + SocketAddress::parse("127.0.0.1:1")->to_string();
  begin(a.url());
  begin(nowhere);
  begin(a.url());
  begin(nowhere);
  begin(a.url());
  ASSERT_TRUE(run_until([&] { return ended.size() == 5; }));
  EXPECT_EQ(std::ranges::count(ended, "a"), 3);
  EXPECT_EQ(client().stats().connect_failed, 2u);
}

// Two origins have a connection each and keep it, though more requests wait at one of them: to close a connection and
// open another would cost more than to wait.
TEST_P(HttpClientPoolTest, who_has_a_connection_waits_for_it) {
  client_options.most_connections = 2;
  HttpScript& a = serve_text(http_ok("a"));
  HttpScript& b = serve_text(http_ok("b"));
  begin(a.url());
  begin(b.url());
  for (int i = 0; i < 20; ++i) begin(i % 3 == 0 ? a.url() : b.url());
  ASSERT_TRUE(run_until([&] { return ended.size() == 22; }));
  EXPECT_EQ(a.opened(), 1u);
  EXPECT_LE(b.opened(), 2u) << "the second in the place of the other's, which nobody waited for any more";
}

TEST_P(HttpClientPoolTest, idle_connections_are_closed_after_their_time) {
  client_options.idle_timeout = milliseconds(20);
  std::vector<ConnectionHandle> held;
  HttpScript& server = serve([&](Connection& connection, const Request&) { held.push_back(connection.handle()); });
  begin(server.url());
  begin(server.url());
  ASSERT_TRUE(run_until([&] { return held.size() == 2; }));
  for (const ConnectionHandle& each : held) each.send(http_ok("x"));
  ASSERT_TRUE(run_until([&] { return ended.size() == 2; }));
  EXPECT_EQ(client().stats().idle, 2u);
  ASSERT_TRUE(run_until([&] { return client().stats().connections == 0; }));
  ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
  begin(server.url());
  ASSERT_TRUE(run_until([&] { return held.size() == 3; }));
  run_for(milliseconds(50));
  EXPECT_EQ(client().stats().connections, 1u) << "it is busy";
}

TEST_P(HttpClientPoolTest, a_full_queue_refuses_and_a_long_wait_ends) {
  client_options.most_per_origin = 1;
  client_options.most_waiting = 2;
  client_options.deadlines.queue = milliseconds(20);
  HttpScript& server = serve(nullptr);
  begin(server.url("/1"));
  ASSERT_TRUE(run_until([&] { return server.requests().size() == 1; }));
  begin(server.url("/2"));
  begin(server.url("/3"));
  const auto refused = client().fetch(HttpClientRequest(server.url("/4")), [](auto) { ADD_FAILURE(); });
  EXPECT_EQ(refused.error(), HttpTrouble::kQueueFull);
  ASSERT_TRUE(run_until([&] { return ended.size() == 2; }));
  const std::string message = make_error_code(HttpTrouble::kQueueTimeout).message();
  EXPECT_THAT(ended, ElementsAre(message, message));
  EXPECT_THAT(server.asked(), ElementsAre("GET /1"));
  EXPECT_EQ(client().stats().waiting, 0u);
  EXPECT_EQ(client().stats().refused, 1u);
}

TEST_P(HttpClientPoolTest, no_first_byte_in_time) {
  HttpScript& server = serve_text("HTTP/1.1 102 Processing\r\n\r\n");
  HttpClientRequest request(server.url());
  request.deadlines = HttpDeadlines{.first_byte = milliseconds(15)};
  EXPECT_EQ(error_of_fetch(request), HttpTrouble::kFirstByteTimeout) << "an interim answer is none";
  ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
}

TEST_P(HttpClientPoolTest, no_whole_answer_in_time) {
  HttpScript& server = serve_text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx");
  HttpClientRequest request(server.url());
  request.deadlines = HttpDeadlines{.total = milliseconds(15)};
  EXPECT_EQ(error_of_fetch(request), HttpTrouble::kTotalTimeout);
  ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
}

TEST_P(HttpClientPoolTest, an_answer_that_stands_still) {
  client_options.client.connection.read_window = milliseconds(15);
  HttpScript& server = serve([](Connection& connection, const Request& request) {
    connection.send(request.number == 1 ? http_ok("x") : "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx");
  });
  ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
  run_for(milliseconds(40));
  EXPECT_EQ(client().stats().idle, 1u) << "idle is not slow";
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), HttpTrouble::kStalled);
}

TEST_P(HttpClientPoolTest, nobody_answers_the_knock) {
  if (GetParam() != "sim") GTEST_SKIP() << "only the simulator has an address that swallows what is sent there";
  client_options.client.connect_timeout = milliseconds(50);
  EXPECT_EQ(error_of_fetch(HttpClientRequest("http://192.0.2.1/")), HttpTrouble::kConnectTimeout);
  // The deadline of the queue does not end a request for which a connection is being opened.
  client_options.deadlines.queue = milliseconds(10);
  drop_client();
  EXPECT_EQ(error_of_fetch(HttpClientRequest("http://192.0.2.1/")), HttpTrouble::kConnectTimeout);
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpClientPoolTest);

}  // namespace
}  // namespace peal
