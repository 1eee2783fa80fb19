// SPDX-License-Identifier: BSD-3-Clause
// Which callbacks are still called while a fetch is paused, and that the bytes of a tunnel are shown before its end.

#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::http_ok;
using test::HttpScript;

class HttpFetchPauseTest : public test::HttpClientTest {
 protected:
  HttpFetch& begin(HttpClientRequest request) {
    const HttpFetchId id =
        begin_fetch(std::move(request), {.on_head =
                                             [this](HttpFetch& fetch, const HttpResponseHead& head) {
                                               status = head.status();
                                               if (on_head) on_head(fetch);
                                             },
                                         .on_body = [this](HttpFetch&, std::string_view bytes) { body += bytes; },
                                         .on_done = [this](const Result<void>&) { at_end = body; }});
    return *client().find(id);
  }
  static HttpClientRequest upgrading(const std::string& url) {
    HttpClientRequest request(url);
    request.may_upgrade = true;
    return request.add("Connection", "upgrade").add("Upgrade", "shout");
  }
  // Starts a server that answers 101, followed at once by `bytes` and FIN.
  HttpScript& serve_brief_tunnel(const std::string& bytes) {
    return serve_text_and_close("HTTP/1.1 101 Switching Protocols\r\nUpgrade: shout\r\nConnection: upgrade\r\n\r\n" +
                                bytes);
  }

  int status = 0;
  std::string body;
  std::string at_end;
  std::function<void(HttpFetch&)> on_head;
};

TEST_P(HttpFetchPauseTest, paused_before_its_head_came) {
  HttpScript& server = serve_text(http_ok("body"));
  for (const bool connected : {false, true}) {
    status = 0;
    body.clear();
    HttpFetch& fetch = begin(HttpClientRequest(server.url()));
    fetch.pause();
    if (connected) {
      ASSERT_TRUE(run_until([&] { return client().stats().connected == 1; }));
    }
    ASSERT_TRUE(run_until([&] { return status == 200; }));
    settle();
    EXPECT_EQ(body, "");
    EXPECT_FALSE(fetched);
    fetch.resume();
    ASSERT_TRUE(fetch_ends());
    EXPECT_TRUE(*fetched);
    EXPECT_EQ(body, "body");
  }
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpFetchPauseTest, paused_while_it_is_redirected) {
  HttpScript& server = serve([](Connection& connection, const Request& request) {
    if (request.what() == "GET /y") {
      connection.send(http_ok("there"));
      return;
    }
    connection.send("HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 20000\r\n\r\n" + std::string(20000, 'x'));
  });
  HttpFetch& fetch = begin(HttpClientRequest(server.url("/x")));
  fetch.pause();
  ASSERT_TRUE(run_until([&] { return status == 200; }));
  settle();
  EXPECT_EQ(body, "");
  fetch.resume();
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(body, "there");
}

TEST_P(HttpFetchPauseTest, an_answer_without_a_body_ends_paused) {
  HttpScript& server = serve_text("HTTP/1.1 204 No Content\r\n\r\n");
  begin(HttpClientRequest(server.url())).pause();
  ASSERT_TRUE(fetch_ends());
  EXPECT_TRUE(*fetched);
  ASSERT_TRUE(fetch(HttpClientRequest(server.url()))) << "the connection is not paused any more";
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpFetchPauseTest, what_a_tunnel_brought_comes_before_its_end) {
  for (const size_t size : {1, 4000, 300'000}) {
    HttpScript& server = serve_brief_tunnel(pattern(size));
    body.clear();
    begin(upgrading(server.url()));
    ASSERT_TRUE(fetch_ends()) << size;
    EXPECT_TRUE(*fetched);
    EXPECT_TRUE(same_bytes(at_end, pattern(size)));
    EXPECT_TRUE(same_bytes(body, pattern(size)));
  }
}

TEST_P(HttpFetchPauseTest, what_a_tunnel_brought_waits_for_who_pauses) {
  for (const bool early : {false, true}) {
    HttpScript& server = serve_brief_tunnel("last words");
    status = 0;
    body.clear();
    on_head = [&](HttpFetch& fetch) {
      if (!early) fetch.pause();
    };
    HttpFetch& fetch = begin(upgrading(server.url()));
    if (early) fetch.pause();
    ASSERT_TRUE(run_until([&] { return status == 101; }));
    settle();
    EXPECT_EQ(body, "");
    EXPECT_FALSE(fetched) << "the end waits, too";
    fetch.resume();
    ASSERT_TRUE(fetch_ends());
    EXPECT_TRUE(*fetched);
    EXPECT_EQ(at_end, "last words");
  }
}

TEST_P(HttpFetchPauseTest, a_tunnel_that_was_paused_before_it_was_one_goes_on) {
  HttpScript& server = serve_text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: shout\r\nConnection: upgrade\r\n\r\n");
  HttpFetch& fetch = begin(upgrading(server.url()));
  fetch.pause();
  ASSERT_TRUE(run_until([&] { return status == 101; }));
  server.each([](Connection& connection) { connection.send("later"); });
  settle();
  EXPECT_EQ(body, "");
  fetch.resume();
  ASSERT_TRUE(run_until([&] { return body == "later"; }));
  fetch.cancel();
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpFetchPauseTest);

}  // namespace
}  // namespace peal
