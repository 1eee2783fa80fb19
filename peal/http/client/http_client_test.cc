// SPDX-License-Identifier: BSD-3-Clause
// One request and its answer: the bytes that are sent, and what the client makes of valid and invalid answers.
#include <peal/http/client/http_client.h>

#include <unistd.h>

#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;
using std::string_literals::operator""s;

class HttpClientTest : public test::HttpClientTest {};

TEST_P(HttpClientTest, a_get_is_sent_and_its_answer_given) {
  HttpScript& server = serve_text("HTTP/1.1 404 Not Here\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nsorry");
  const HttpResponse answer = answer_of(HttpClientRequest(server.url("/a?b#c")).add("Accept", "*/*"));
  EXPECT_EQ(answer.status(), 404);
  EXPECT_EQ(answer.head.reason(), "Not Here");
  EXPECT_EQ(answer.find("X-a"), "1");
  EXPECT_EQ(answer.body, "sorry");
  EXPECT_EQ(answer.url, server.url("/a?b"));
  EXPECT_EQ(server.requests().at(0).head,
            "GET /a?b HTTP/1.1\r\nHost: " + server.address().to_string() + "\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(client().stats().answered, 1u);
}

TEST_P(HttpClientTest, a_body_is_sent_with_its_length) {
  HttpScript& server = serve_text(http_ok("thanks"));
  ASSERT_TRUE(fetch(HttpClientRequest("POST", server.url(), "a\0b"s)));
  ASSERT_TRUE(fetch(HttpClientRequest("POST", server.url())));
  EXPECT_TRUE(server.requests().at(0).has("Content-Length: 3"));
  EXPECT_EQ(server.requests().at(0).body, "a\0b"s);
  EXPECT_TRUE(server.requests().at(1).has("Content-Length: 0"));
}

// These answers have no body, whatever Content-Length says (RFC 9110 6.4.1).
TEST_P(HttpClientTest, answers_that_have_no_body) {
  HttpScript& server = serve([](Connection& connection, const Request& request) {
    const std::string status = request.what() == "HEAD /" ? "200" : request.what().substr(5);
    connection.send("HTTP/1.1 " + status + " x\r\nContent-Length: 5\r\n\r\n");
  });
  for (const auto& [method, target, status] :
       {std::tuple{"HEAD", "/", 200}, std::tuple{"GET", "/204", 204}, std::tuple{"GET", "/304", 304}}) {
    const auto answer = fetch(HttpClientRequest(method, server.url(target)));
    ASSERT_TRUE(answer) << target << answer.error().message();
    EXPECT_EQ(answer->status(), status);
    EXPECT_EQ(answer->body, "");
  }
  EXPECT_EQ(server.opened(), 1u) << "nothing is wrong with the connection";
}

TEST_P(HttpClientTest, a_chunked_answer_in_pieces_of_one_byte) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0a\r\n0123456789\r\n0\r\nX: y\r\n\r\n";
  HttpScript& server = serve([&](Connection& connection, const Request& request) {
    if (request.number == 2) {
      connection.send(text);
      return;
    }
    auto drip = std::make_shared<std::function<void(size_t)>>();
    *drip = [this, weak = std::weak_ptr(drip), handle = connection.handle(), &text](size_t at) {
      if (at == text.size()) return;
      handle.send(text.substr(at, 1));
      loop().after({}, [keep = weak.lock(), at] { (*keep)(at + 1); });
    };
    (*drip)(0);
  });
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(answer_of(HttpClientRequest(server.url())).body, "abc0123456789");
  }
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpClientTest, an_answer_without_a_length_ends_with_the_connection) {
  HttpScript& server = serve_text_and_close("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  EXPECT_EQ(answer_of(HttpClientRequest(server.url())).body, "until the end");
}

TEST_P(HttpClientTest, interim_answers_are_passed_over) {
  HttpScript& server = serve_text(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const HttpResponse answer = answer_of(HttpClientRequest(server.url()));
  EXPECT_EQ(answer.status(), 200);
  EXPECT_FALSE(answer.find("Link"));
  EXPECT_EQ(answer.body, "ok");
}

TEST_P(HttpClientTest, what_is_no_http_is_an_error_and_ends_the_connection) {
  const struct {
    std::string text;
    HttpParseError error;
  } cases[] = {
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", HttpParseError::kBadStatusLine},
      {"HTTP/1.1 20 OK\r\n\r\n", HttpParseError::kBadStatusLine},
      {"HTTP/1.1 200 OK\nContent-Length: 0\n\n\r\n\r\n", HttpParseError::kBadLineEnd},
      {"HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n", HttpParseError::kBadHeader},
      {"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", HttpParseError::kBadHeader},
      {"HTTP/1.1 200 OK\r\nA: \0b\r\n\r\n"s, HttpParseError::kBadHeader},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", HttpParseError::kBadContentLength},
      {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", HttpParseError::kBadContentLength},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", HttpParseError::kBadChunk},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", HttpParseError::kBadChunk},
      {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HttpParseError::kBadTransferEncoding},
      {"HTTP/1.1 100 Continue\r\nA\r\n\r\n", HttpParseError::kBadHeader},
  };
  std::string text;
  HttpScript& server = serve([&](Connection& connection, const Request&) { connection.send(text); });
  for (const auto& item : cases) {
    text = item.text;
    const std::error_code error = error_of_fetch(HttpClientRequest(server.url()));
    EXPECT_EQ(error, malformed_answer(item.error)) << item.text << ": " << error.message();
    EXPECT_TRUE(is_malformed_answer(error));
    ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
  }
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(HttpClientTest, the_server_closes_in_the_middle) {
  std::string text;
  bool resets = false;
  HttpScript& server = serve([&](Connection& connection, const Request&) {
    connection.send(text);
    if (!resets) return connection.close();
    // The reset comes later, so that the bytes arrive before it.
    loop().after(std::chrono::milliseconds(5), [handle = connection.handle()] { handle.abort(); });
  });
  for (const char* part :
       {"", "HTTP", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "HTTP/1.1 100 Continue\r\n\r\n"}) {
    text = part;
    for (const bool with_reset : {false, true}) {
      resets = with_reset;
      EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), HttpTrouble::kClosedEarly) << part << resets;
    }
  }
  text = "HTTP/1.1 200 OK\r\n\r\nno length";
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), HttpTrouble::kClosedEarly) << "a reset ends no answer";
}

TEST_P(HttpClientTest, answers_without_end_are_cut_off) {
  client_options.answer_limit_bytes = 100000;
  client_options.limits.head_bytes = 8192;
  std::string start;
  std::string more;
  HttpScript& server = serve([&](Connection& connection, const Request&) {
    connection.send(start);
    for (int i = 0; i < 40; ++i) connection.send(more);
  });
  start = "HTTP/1.1 200 OK\r\n\r\n";
  more = std::string(8192, 'x');
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), HttpTrouble::kAnswerTooLarge);
  start = "HTTP/1.1 200 OK\r\n";
  more = "A: " + std::string(200, 'x') + "\r\n";
  more += more + more + more;
  more += more + more;
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), malformed_answer(HttpParseError::kHeadTooLarge));
  start = "";
  more = "HTTP/1.1 102 Wait\r\n\r\n";
  for (int i = 0; i < 5; ++i) more += more;
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), malformed_answer(HttpParseError::kHeadTooLarge));
  ASSERT_TRUE(run_until([&] { return server.open() == 0; }));
}

TEST_P(HttpClientTest, nothing_that_could_write_lines_of_its_own_is_sent) {
  HttpScript& server = serve_text(http_ok(""));
  const std::string url = server.url();
  const auto refused = [&](HttpClientRequest request) {
    const auto id = client().fetch(std::move(request), [](Result<HttpResponse>) { ADD_FAILURE() << "called"; });
    EXPECT_FALSE(id);
    return id ? std::error_code() : id.error();
  };
  EXPECT_EQ(refused(HttpClientRequest("GET /x HTTP/1.1\r\nA: b\r\n\r\nGET", url)), HttpTrouble::kBadRequest);
  EXPECT_EQ(refused(HttpClientRequest("", url)), HttpTrouble::kBadRequest);
  for (const std::string& bad : {"b\r\nC: d"s, "b\nC: d"s, "b\rC"s, "b\0"s}) {
    EXPECT_EQ(refused(HttpClientRequest(url).add("A", bad)), HttpTrouble::kBadRequest);
    EXPECT_EQ(refused(HttpClientRequest(url).add("A" + bad, "b")), HttpTrouble::kBadRequest);
    EXPECT_EQ(refused(HttpClientRequest(url + "/" + bad)), HttpTrouble::kBadUrl);
    HttpClientRequest target(url);
    target.target = "/" + bad;
    EXPECT_EQ(refused(std::move(target)), HttpTrouble::kBadRequest);
  }
  EXPECT_EQ(refused(HttpClientRequest(url).add("Content-Length", "1")), HttpTrouble::kBadRequest);
  EXPECT_EQ(refused(HttpClientRequest(url).add("Transfer-Encoding", "chunked")), HttpTrouble::kBadRequest);
  HttpClientRequest two("POST", url, "whole");
  two.streamed = true;
  EXPECT_EQ(refused(std::move(two)), HttpTrouble::kBadRequest);
  for (const char* bad : {"", "/x", "example.org", "ftp://x/", "http://", "http://u:p@h/", "http://h:0/"}) {
    EXPECT_EQ(refused(HttpClientRequest(bad)), HttpTrouble::kBadUrl) << bad;
  }
  EXPECT_EQ(refused(HttpClientRequest("https://127.0.0.1/")), HttpTrouble::kNeedsLayer);
  settle();
  EXPECT_EQ(server.opened(), 0u);
}

TEST_P(HttpClientTest, targets_of_other_forms_and_a_host_of_ones_own) {
  HttpScript& server = serve_text(http_ok(""));
  HttpClientRequest request("OPTIONS", server.url());
  request.target = "*";
  ASSERT_TRUE(fetch(request.add("Host", "example.org")));
  EXPECT_EQ(server.requests().at(0).head, "OPTIONS * HTTP/1.1\r\nHost: example.org\r\n\r\n");
}

TEST_P(HttpClientTest, a_server_behind_a_unix_socket) {
  const std::string path = testing::TempDir() + "peal-http-" + std::to_string(::getpid());
  HttpScript& server =
      serve([](Connection& connection, const Request&) { connection.send(http_ok("local")); }, "unix:" + path);
  HttpClientRequest request("http://service/x");
  request.connect_to = "unix:" + path;
  EXPECT_EQ(answer_of(request).body, "local");
  EXPECT_TRUE(server.requests().at(0).has("Host: service"));
}

TEST_P(HttpClientTest, a_name_is_looked_up) {
  HttpScript& server = serve_text(http_ok("named"));
  answer_of(HttpClientRequest("http://localhost:" + std::to_string(server.address().port()) + "/"));
  EXPECT_TRUE(server.requests().at(0).has("Host: localhost:" + std::to_string(server.address().port())));
}

TEST_P(HttpClientTest, nobody_listens) {
  uint16_t port = 0;
  {
    HttpScript server(loop(), nullptr);
    port = server.address().port();
  }
  settle();
  EXPECT_EQ(error_of_fetch(HttpClientRequest("http://127.0.0.1:" + std::to_string(port))), errno_code(ECONNREFUSED));
  EXPECT_EQ(error_of_fetch(HttpClientRequest("http://a_b..c/")), std::error_code(Trouble::kBadAddress));
  EXPECT_EQ(client().stats().connections, 0u);
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpClientTest);

}  // namespace
}  // namespace peal
