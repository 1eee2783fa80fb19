// SPDX-License-Identifier: BSD-3-Clause
// A server sent an answer with "Transfer-Encoding: gzip, chunked". The client showed the gzip bytes as if they were the
// body, and a proxy passed them on, without any mark that they were gzip. Now such an answer is an error, because
// nobody asked for this coding (RFC 9112 7).
//
// Interim answers ended in the client, although a proxy must pass them on (RFC 9110 15.2). Now on_interim reports them.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::HttpScript;
using testing::ElementsAre;

class CodingsAndInterimAnswers : public test::HttpClientTest {};

TEST_P(CodingsAndInterimAnswers, a_coding_that_nobody_asked_for_is_an_error) {
  for (const char* coding : {"gzip, chunked", "chunked, gzip", "gzip", "deflate,chunked"}) {
    HttpScript& server = serve([&](Connection& connection, const HttpScript::Request&) {
      connection.send(fmt::format("HTTP/1.1 200 OK\r\nTransfer-Encoding: {}\r\n\r\n2\r\nxx\r\n0\r\n\r\n", coding));
      connection.close();
    });
    EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url())), malformed_answer(HttpParseError::kUnknownCoding))
        << coding;
  }
}

TEST_P(CodingsAndInterimAnswers, an_answer_without_a_body_may_name_any_coding) {
  HttpScript& server = serve_text("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n");
  EXPECT_TRUE(fetch(HttpClientRequest("HEAD", server.url())));
}

TEST_P(CodingsAndInterimAnswers, interim_answers_are_reported) {
  HttpScript& server = serve_text("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" +
                                  test::http_ok("there"));
  std::vector<std::string> told;
  std::optional<Result<void>> done;
  ASSERT_TRUE(client().start(
      HttpClientRequest(server.url()),
      {.on_interim =
           [&](HttpFetch&, const HttpResponseHead& head) {
             told.push_back(fmt::format("{} {}", head.status(), head.find("Link").value_or("-")));
           },
       .on_head = [&](HttpFetch&, const HttpResponseHead& head) { told.push_back(std::to_string(head.status())); },
       .on_done = [&](const Result<void>& how) { done = how; }}));
  ASSERT_TRUE(run_until([&] { return done.has_value(); }));
  EXPECT_TRUE(*done);
  EXPECT_THAT(told, ElementsAre("102 -", "103 </a>", "200"));
}

TEST_P(CodingsAndInterimAnswers, a_fetch_may_be_cancelled_in_on_interim) {
  HttpScript& server = serve_text("HTTP/1.1 102 Processing\r\n\r\n" + test::http_ok("there"));
  ASSERT_TRUE(client().start(HttpClientRequest(server.url()),
                             {.on_interim = [](HttpFetch& fetch, const HttpResponseHead&) { fetch.cancel(); },
                              .on_done = [](const Result<void>&) { ADD_FAILURE(); }}));
  ASSERT_TRUE(run_until([&] { return client().stats().cancelled == 1 && server.open() == 0; }));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(CodingsAndInterimAnswers);

}  // namespace
}  // namespace peal
