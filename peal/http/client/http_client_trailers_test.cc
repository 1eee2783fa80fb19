// SPDX-License-Identifier: BSD-3-Clause
// Trailers, of answers and of requests (RFC 9110 6.5, RFC 9112 7.1.2).
#include <gmock/gmock.h>

#include <peal/coro/scope.h>
#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;
using testing::ElementsAre;

constexpr std::string_view kWithTrailers =
    "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
    "4\r\nbody\r\n0\r\nX-Sum: 17\r\nX-Took:  3 ms \r\n\r\n";

// Receives one request whose body is in chunks, and answers after the end of its trailers.
class ChunkedListener {
 public:
  explicit ChunkedListener(HttpScript& server) {
    server.on_bytes = [this](Connection& connection, Buffer& input) {
      heard += input.to_string();
      const size_t last = heard.find("\r\n0\r\n");
      if (last != heard.npos && heard.ends_with("\r\n\r\n")) connection.send(http_ok("x"));
    };
  }
  // Returns the received bytes from the last chunk on.
  std::string end() const { return heard.substr(std::min(heard.size(), heard.find("\r\n0\r\n") + 2)); }

  std::string heard;
};

class HttpClientTrailersTest : public test::HttpClientTest {
 protected:
  static HttpClientRequest streamed_post(const std::string& url) {
    HttpClientRequest request("POST", url);
    request.streamed = true;
    return request;
  }
  // Returns callbacks that add what they are called with to `notes`.
  HttpFetchCallbacks noting() {
    return {.on_head = [this](HttpFetch&, const HttpResponseHead& head) { note(head.find("X-Sum") ? "h?" : "h"); },
            .on_body = [this](HttpFetch&, std::string_view bytes) { note(bytes); },
            .on_trailers = [this](HttpFetch&, std::string_view lines) { note(lines); },
            .on_done = [this](const Result<void>& how) { note(how ? "done" : how.error().message()); }};
  }
  void note(std::string_view what) { notes.emplace_back(what); }
  testing::AssertionResult wait_for(std::string_view last) {
    return run_until([&] { return !notes.empty() && notes.back() == last; });
  }

  std::vector<std::string> notes;
};

TEST_P(HttpClientTrailersTest, those_of_an_answer_come_between_its_body_and_its_end) {
  HttpScript& server = serve_text(std::string(kWithTrailers));
  for (int i = 0; i < 2; ++i) {
    notes.clear();
    ASSERT_TRUE(client().start(HttpClientRequest(server.url()), noting()));
    ASSERT_TRUE(wait_for("done"));
    EXPECT_THAT(notes, ElementsAre("h", "body", "X-Sum: 17\r\nX-Took:  3 ms \r\n", "done"));
  }
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpClientTrailersTest, a_collected_answer_has_them_apart_from_its_head) {
  HttpScript& server = serve_text(std::string(kWithTrailers));
  const HttpResponse answer = answer_of(HttpClientRequest(server.url()));
  EXPECT_EQ(answer.body, "body");
  EXPECT_FALSE(answer.find("X-Sum"));
  std::string_view lines = answer.trailers;
  std::vector<std::string> seen;
  for (HttpField field; next_http_field(lines, field);) seen.push_back(fmt::format("{}={}", field.name, field.value));
  EXPECT_THAT(seen, ElementsAre("X-Sum=17", "X-Took=3 ms"));
  HttpScript& plain = serve_text(http_ok("x"));
  EXPECT_EQ(fetch(HttpClientRequest(plain.url())).value().trailers, "");
}

TEST_P(HttpClientTrailersTest, those_of_a_redirect_are_not_told) {
  HttpScript& server = serve([](Connection& connection, const HttpScript::Request& request) {
    if (request.what() == "GET /y") {
      connection.send(http_ok("there"));
      return;
    }
    connection.send("HTTP/1.1 302 Found\r\nLocation: /y\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n");
  });
  ASSERT_TRUE(client().start(HttpClientRequest(server.url("/x")), noting()));
  ASSERT_TRUE(wait_for("done"));
  EXPECT_THAT(notes, ElementsAre("h", "there", "done"));
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpClientTrailersTest, more_than_a_head_may_have_are_an_error) {
  client_options.limits.head_bytes = 200;
  HttpScript& server = serve_text(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: " + std::string(300, 'x') + "\r\n\r\n");
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), malformed_answer(HttpParseError::kHeadTooLarge));
}

TEST_P(HttpClientTrailersTest, cancelled_when_they_come) {
  HttpScript& server = serve_text(std::string(kWithTrailers));
  HttpFetchCallbacks callbacks = noting();
  callbacks.on_trailers = [this](HttpFetch& fetch, std::string_view) {
    fetch.cancel();
    note("cancelled");
  };
  ASSERT_TRUE(client().start(HttpClientRequest(server.url()), std::move(callbacks)));
  ASSERT_TRUE(wait_for("cancelled"));
  settle();
  EXPECT_EQ(notes.back(), "cancelled");
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(HttpClientTrailersTest, those_of_a_request_follow_its_last_chunk) {
  HttpScript& server = serve(nullptr);
  ChunkedListener listener(server);
  const HttpField trailers[] = {{"X-Sum", "17"}, {"X-Empty", ""}};
  for (const bool connected : {false, true}) {
    listener.heard.clear();
    notes.clear();
    const HttpFetchId id = begin_fetch(streamed_post(server.url()).add("Trailer", "X-Sum"), noting());
    if (connected) settle();
    client().find(id)->write("body");
    EXPECT_TRUE(client().find(id)->end_body(trailers));
    EXPECT_FALSE(client().find(id)->end_body(trailers)) << "it has ended";
    ASSERT_TRUE(wait_for("done"));
    EXPECT_TRUE(listener.heard.contains("\r\nTrailer: X-Sum\r\n"));
    EXPECT_EQ(listener.end(), "0\r\nX-Sum: 17\r\nX-Empty: \r\n\r\n");
  }
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpClientTrailersTest, what_may_not_trail_changes_nothing) {
  HttpScript& server = serve(nullptr);
  ChunkedListener listener(server);
  const HttpFetchId id = begin_fetch(streamed_post(server.url()), noting());
  HttpFetch& fetch = *client().find(id);
  const HttpField bad[] = {
      {"Content-Length", "4"}, {"Host", "h"}, {"Authorization", "x"}, {"Trailer", "x"}, {"two words", "x"},
      {"X", "a\r\nb: c"},      {"", "x"}};
  for (const HttpField& field : bad) {
    const HttpField both[] = {{"X-Sum", "17"}, field};
    EXPECT_FALSE(fetch.end_body(both)) << field.name;
  }
  fetch.write("body");
  EXPECT_TRUE(fetch.end_body(std::span<const HttpField>())) << "none is as many as any";
  ASSERT_TRUE(wait_for("done"));
  EXPECT_EQ(listener.end(), "0\r\n\r\n");
}

TEST_P(HttpClientTrailersTest, only_chunks_can_have_them) {
  HttpScript& server = serve_text(http_ok("x"));
  const HttpField trailer[] = {{"X-Sum", "17"}};
  HttpClientRequest measured = streamed_post(server.url());
  measured.streamed_bytes = 4;
  const HttpFetchId id = begin_fetch(std::move(measured), noting());
  EXPECT_FALSE(client().find(id)->end_body(trailer));
  client().find(id)->write("body");
  client().find(id)->end_body();
  ASSERT_TRUE(wait_for("done"));
  EXPECT_EQ(server.requests().at(0).body, "body");
  const HttpFetchId whole = begin_fetch(HttpClientRequest("PUT", server.url(), "body"), noting());
  EXPECT_FALSE(client().find(whole)->end_body(trailer));
  notes.clear();
  ASSERT_TRUE(wait_for("done"));
}

Task<> send_and_read(HttpClient& client, std::string url, std::string& seen) {
  HttpClientRequest request("POST", url);
  request.streamed = true;
  HttpClientStream stream = client.open(request);
  co_await stream.write("body");
  const HttpField trailer[] = {{"X-Sum", "4"}};
  EXPECT_TRUE(stream.end_body(trailer));
  for (;;) {
    const Result<Buffer> piece = co_await stream.read();
    if (!piece || piece->empty()) break;
    seen += piece->to_string();
  }
  seen += ";" + std::string(stream.trailers());
  EXPECT_FALSE(stream.end_body(trailer)) << "it is over";
}

TEST_P(HttpClientTrailersTest, of_a_stream) {
  HttpScript& server = serve(nullptr);
  std::string heard;
  server.on_bytes = [&](Connection& connection, Buffer& input) {
    heard += input.to_string();
    if (heard.ends_with("\r\n0\r\nX-Sum: 4\r\n\r\n")) connection.send(std::string(kWithTrailers));
  };
  std::string seen;
  Scope scope(loop());
  scope.spawn(send_and_read(client(), server.url(), seen));
  ASSERT_TRUE(run_until([&] { return seen.ends_with("\r\n"); })) << heard;
  EXPECT_EQ(seen, "body;X-Sum: 17\r\nX-Took:  3 ms \r\n");
  settle();
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpClientTrailersTest);

}  // namespace
}  // namespace peal
