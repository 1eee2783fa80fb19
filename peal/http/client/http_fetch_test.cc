// SPDX-License-Identifier: BSD-3-Clause
// Bodies in pieces, in both directions; Expect: 100-continue; tunnels.
#include <peal/http/client/http_fetch.h>

#include <gmock/gmock.h>

#include <peal/net/pipe.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::http_ok;
using test::HttpScript;
using testing::ElementsAre;

class HttpFetchTest : public test::HttpClientTest {
 protected:
  // Begins the request; its events are stored in the members below.
  HttpFetchId start(HttpClientRequest request) {
    return begin_fetch(std::move(request),
                       {.on_head = [this](HttpFetch&, const HttpResponseHead& its_head) { head = its_head; },
                        .on_body =
                            [this](HttpFetch& fetch, std::string_view bytes) {
                              body += bytes;
                              if (pausing) fetch.pause();
                            },
                        .on_writable =
                            [this](HttpFetch& fetch) {
                              if (on_writable) return on_writable(fetch);
                              ++writable;
                            }});
  }
  static HttpClientRequest streamed(const std::string& url, std::optional<uint64_t> bytes = {}) {
    HttpClientRequest request("PUT", url);
    request.streamed = true;
    request.streamed_bytes = bytes;
    return request;
  }

  HttpResponseHead head;
  std::string body;
  bool pausing = false;  // whether the fetch is paused after each piece of the body
  int writable = 0;
  std::function<void(HttpFetch&)> on_writable;
};

TEST_P(HttpFetchTest, a_streamed_body_goes_in_chunks_or_with_its_length) {
  HttpScript& server = serve_text(http_ok("x"));
  for (const bool has_length : {false, true}) {
    const HttpFetchId id = start(streamed(server.url(), has_length ? std::optional<uint64_t>(8) : std::nullopt));
    HttpFetch& fetch = *client().find(id);
    fetch.write("abcd");
    fetch.write("");
    settle();  // the fetch has a connection now
    fetch.write("ef");
    fetch.write("gh");
    fetch.end_body();
    fetch.end_body();
    EXPECT_TRUE(fetch.write("too late, and dropped"));
    ASSERT_TRUE(fetch_ends());
    EXPECT_TRUE(*fetched);
    const Request& request = server.requests().back();
    EXPECT_EQ(request.has("Content-Length: 8"), has_length);
    EXPECT_EQ(request.has("Transfer-Encoding: chunked"), !has_length);
    EXPECT_EQ(request.body, has_length ? "abcdefgh" : "4\r\nabcd\r\n2\r\nef\r\n2\r\ngh\r\n0\r\n\r\n");
  }
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpFetchTest, an_empty_streamed_body) {
  HttpScript& server = serve_text(http_ok("x"));
  client().find(start(streamed(server.url())))->end_body();
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(server.requests().at(0).body, "0\r\n\r\n");
}

// Streams four bytes of a body that was announced with eight; each test then continues in another wrong way.
class HttpFetchLengthTest : public HttpFetchTest {
 protected:
  void is_given_up(const std::function<void(HttpFetch&)>& go_on) {
    HttpScript& server = serve_text(http_ok("x"));
    for (const bool connected : {false, true}) {
      const HttpFetchId id = start(streamed(server.url(), 8));
      client().find(id)->write("abcd");
      if (connected) settle();
      go_on(*client().find(id));
      EXPECT_FALSE(fetched) << "not inside the call";
      ASSERT_TRUE(fetch_ends());
      EXPECT_EQ(fetched->error(), HttpTrouble::kBadRequest);
      ASSERT_TRUE(run_until([&] { return server.open() == 0 && client().stats().connections == 0; }));
    }
  }
};

TEST_P(HttpFetchLengthTest, a_streamed_body_that_ends_too_early_is_given_up) {
  is_given_up([](HttpFetch& fetch) { fetch.end_body(); });
}

// For example, a file that is uploaded may grow after its length was read.
TEST_P(HttpFetchLengthTest, a_streamed_body_that_is_longer_than_announced_is_given_up) {
  is_given_up([](HttpFetch& fetch) { EXPECT_FALSE(fetch.write("efghi")); });
}

TEST_P(HttpFetchTest, a_body_where_none_is_streamed_is_given_up) {
  HttpScript& server = serve_text(http_ok("x"));
  const HttpFetchId id = start(HttpClientRequest(server.url()));
  EXPECT_FALSE(client().find(id)->write("abcd"));
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(fetched->error(), HttpTrouble::kBadRequest);
}

TEST_P(HttpFetchTest, uploading_waits_for_a_server_that_does_not_read) {
  constexpr size_t kPiece = 50000;
  constexpr size_t kMost = 1500;  // more pieces than any kernel buffers
  HttpScript& server = serve_text(http_ok("x"));
  server.on_head = [](Connection& connection, std::string_view) { connection.pause(); };
  size_t written = 0;
  bool enough = false;
  on_writable = [&](HttpFetch& fetch) {
    while (!enough && written < kMost) {
      const std::string piece(kPiece, static_cast<char>('a' + written++ % 26));
      if (!fetch.write(piece)) return;
    }
    fetch.end_body();
  };
  const HttpFetchId id = start(streamed(server.url()));
  EXPECT_FALSE(client().find(id)->write("begin"));
  size_t held = 0;
  do {
    held = written;
    settle();
  } while (written != held || held == 0);
  EXPECT_LT(held, kMost) << "no more than the kernel and the high-water mark take";
  enough = true;
  server.each([](Connection& connection) { connection.resume(); });
  ASSERT_TRUE(fetch_ends());
  EXPECT_TRUE(*fetched);
  EXPECT_EQ(written, held);
  EXPECT_GT(server.requests().at(0).body.size(), kPiece * held);
}

TEST_P(HttpFetchTest, a_large_whole_body_goes_as_it_is_taken) {
  client_options.client.connection.output_limit_bytes = 1 << 20;
  HttpScript& server = serve_text(http_ok("x"));
  const std::string large = pattern(5 << 20);
  answer_of(HttpClientRequest("PUT", server.url(), large));
  EXPECT_TRUE(same_bytes(server.requests().at(0).body, large));
}

TEST_P(HttpFetchTest, more_is_written_than_may_be_kept) {
  client_options.client.connection.output_limit_bytes = 100000;
  client_options.client.connection.high_water_bytes = 50000;
  HttpScript& server = serve(nullptr);
  server.on_bytes = [](Connection& connection, Buffer&) { connection.pause(); };
  for (const bool connected : {false, true}) {
    const HttpFetchId id = start(streamed(server.url()));
    if (connected) settle();
    for (int i = 0; i < 300 && client().find(id) != nullptr; ++i) client().find(id)->write(std::string(100000, 'x'));
    ASSERT_TRUE(fetch_ends());
    EXPECT_EQ(fetched->error(), HttpTrouble::kUploadTooFarBehind) << connected;
  }
}

TEST_P(HttpFetchTest, an_answer_that_is_not_read_stays_with_the_server) {
  const std::string large = pattern(3 << 20);
  HttpScript& server = serve_text(http_ok(large));
  pausing = true;
  const HttpFetchId id = start(HttpClientRequest(server.url()));
  size_t pauses = 0;
  for (; !fetched; ++pauses) {
    const size_t before = body.size();
    ASSERT_TRUE(run_until([&] { return fetched || body.size() > before; }));
    if (pauses < 3) {
      const size_t after = body.size();
      run_for(milliseconds(5));
      EXPECT_EQ(body.size(), after) << "nothing comes meanwhile";
    }
    if (HttpFetch* fetch = client().find(id)) fetch->resume();
  }
  EXPECT_GT(pauses, 20u);
  EXPECT_TRUE(*fetched);
  EXPECT_TRUE(same_bytes(body, large));
  ASSERT_TRUE(fetch(HttpClientRequest(server.url()))) << "paused when it ended";
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpFetchTest, chunks_that_arrive_together_are_given_one_by_one_to_who_pauses) {
  HttpScript& server =
      serve_text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n");
  pausing = true;
  const HttpFetchId id = start(HttpClientRequest(server.url()));
  for (const char* so_far : {"a", "ab", "abc"}) {
    ASSERT_TRUE(run_until([&] { return body.size() == std::string_view(so_far).size(); }));
    EXPECT_EQ(body, so_far);
    if (HttpFetch* fetch = client().find(id)) fetch->resume();
  }
  ASSERT_TRUE(fetch_ends());
}

// Tests "Expect: 100-continue" (RFC 9110 10.1.1).
TEST_P(HttpFetchTest, a_body_waits_until_the_server_wants_it) {
  HttpScript& server = serve_text(http_ok("x"));
  bool told = false;
  server.on_head = [&](Connection& connection, std::string_view text) {
    EXPECT_TRUE(text.contains("\r\nExpect: 100-continue\r\n"));
    told = true;
    loop().after(milliseconds(5), [handle = connection.handle()] { handle.send("HTTP/1.1 100 Continue\r\n\r\n"); });
  };
  HttpClientRequest request("PUT", server.url(), "body");
  request.expects_continue = true;
  answer_of(request);
  EXPECT_TRUE(told);
  EXPECT_EQ(server.requests().at(0).body, "body");
  request = streamed(server.url());
  request.expects_continue = true;
  const HttpFetchId id = start(request);
  EXPECT_FALSE(client().find(id)->write("streamed"));
  client().find(id)->end_body();
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(server.requests().at(1).body, "8\r\nstreamed\r\n0\r\n\r\n");
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpFetchTest, a_server_that_keeps_silent_gets_the_body_after_a_while) {
  client_options.continue_timeout = milliseconds(10);
  HttpScript& server = serve_text(http_ok("x"));
  HttpClientRequest request("PUT", server.url(), "body");
  request.expects_continue = true;
  ASSERT_TRUE(fetch(request));
  EXPECT_EQ(server.requests().at(0).body, "body");
}

TEST_P(HttpFetchTest, a_server_that_refuses_gets_no_body_and_its_connection_is_not_used_again) {
  HttpScript& server = serve_text(http_ok("x"));
  server.on_head = [](Connection& connection, std::string_view) {
    connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
  };
  HttpClientRequest request("PUT", server.url(), "body");
  request.expects_continue = true;
  EXPECT_EQ(answer_of(request).status(), 413);
  EXPECT_EQ(client().stats().connections, 0u);
  settle();
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(HttpFetchTest, a_server_that_does_not_know_expect_is_asked_without) {
  HttpScript& server = serve_text(http_ok("x"));
  server.on_head = [](Connection& connection, std::string_view text) {
    if (text.contains("Expect")) connection.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
  };
  HttpClientRequest request("POST", server.url(), "body");
  request.expects_continue = true;
  EXPECT_EQ(answer_of(request).status(), 200);
  EXPECT_EQ(server.requests().at(0).body, "body");
}

TEST_P(HttpFetchTest, an_answer_before_the_end_of_the_request) {
  HttpScript& server = serve(nullptr);
  server.on_head = [](Connection& connection, std::string_view) { connection.send(http_ok("early")); };
  const HttpFetchId id = start(streamed(server.url()));
  client().find(id)->write("begun");
  ASSERT_TRUE(fetch_ends());
  EXPECT_TRUE(*fetched);
  EXPECT_EQ(body, "early");
  EXPECT_EQ(client().find(id), nullptr);
  EXPECT_EQ(client().stats().connections, 0u) << "half a request is in it";
}

TEST_P(HttpFetchTest, what_was_streamed_is_not_repeated) {
  HttpScript& server = serve_text(http_ok("x"));
  ASSERT_TRUE(fetch(HttpClientRequest(server.url())));
  server.on_head = [](Connection& connection, std::string_view) { connection.abort(); };
  const HttpFetchId id = start(streamed(server.url()));
  client().find(id)->write("gone");
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(fetched->error(), HttpTrouble::kClosedEarly);
  EXPECT_EQ(client().stats().repeated, 0u);
}

TEST_P(HttpFetchTest, another_protocol_takes_over) {
  HttpScript& server = serve([&](Connection& connection, const Request& request) {
    connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: shout\r\nConnection: upgrade\r\n\r\nfirst,");
    EXPECT_TRUE(request.has("Upgrade: shout"));
  });
  HttpClientRequest request(server.url());
  request.may_upgrade = true;
  const HttpFetchId id = start(request.add("Connection", "upgrade").add("Upgrade", "shout"));
  ASSERT_TRUE(run_until([&] { return body == "first,"; }));
  EXPECT_EQ(head.status(), 101);
  ASSERT_NE(client().find(id)->tunnel(), nullptr);
  server.on_bytes = [](Connection& connection, Buffer& input) { connection.send("re:" + input.to_string()); };
  EXPECT_TRUE(client().find(id)->write("hello"));
  ASSERT_TRUE(run_until([&] { return body == "first,re:hello"; }));
  server.each([](Connection& connection) { connection.close(); });
  ASSERT_TRUE(fetch_ends());
  EXPECT_TRUE(*fetched);
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(HttpFetchTest, a_tunnel_is_ended_from_here) {
  std::string heard;
  HttpScript& server = serve_text("HTTP/1.1 200 Connected\r\n\r\n");
  HttpClientRequest request("CONNECT", server.url());
  request.target = "example.org:443";
  request.may_upgrade = true;
  const HttpFetchId id = start(request);
  ASSERT_TRUE(run_until([&] { return head.status() == 200; }));
  EXPECT_TRUE(server.requests().at(0).head.starts_with("CONNECT example.org:443 HTTP/1.1\r\n"));
  server.on_bytes = [&](Connection&, Buffer& input) { heard += input.to_string(); };
  client().find(id)->write("last words");
  client().find(id)->end_body();
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(heard, "last words");
}

TEST_P(HttpFetchTest, a_tunnel_is_piped) {
  HttpScript& end = serve(nullptr);
  end.on_bytes = [](Connection& connection, Buffer& input) { connection.send("far:" + input.to_string()); };
  std::string heard;
  HttpScript* server = nullptr;
  server = &serve([&](Connection& connection, const Request&) {
    server->on_bytes = [&](Connection&, Buffer& input) { heard += input.to_string(); };
    connection.send("HTTP/1.1 101 Switching Protocols\r\n\r\nnear");
  });
  Connection* far = nullptr;
  Client to_end(loop(), {.on_open = [&](Connection& connection) { far = &connection; }});
  ASSERT_TRUE(to_end.connect(end.address()));
  ASSERT_TRUE(run_until([&] { return far != nullptr; }));
  HttpClientRequest request(server->url());
  request.may_upgrade = true;
  begin_fetch(request,
              {.on_head = [&](HttpFetch& fetch, const HttpResponseHead&) { EXPECT_TRUE(pipe(*fetch.tunnel(), *far)); },
               .on_body = [&](HttpFetch&, std::string_view bytes) { body += bytes; }});
  ASSERT_TRUE(run_until([&] { return heard == "far:near"; })) << heard;
  server->each([](Connection& connection) { connection.close(); });
  ASSERT_TRUE(fetch_ends());
  EXPECT_TRUE(*fetched);
  EXPECT_EQ(body, "");
}

TEST_P(HttpFetchTest, a_protocol_that_nobody_asked_for) {
  HttpScript& server = serve_text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), HttpTrouble::kUnaskedUpgrade);
  ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpFetchTest);
PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpFetchLengthTest);

}  // namespace
}  // namespace peal
