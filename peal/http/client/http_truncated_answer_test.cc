// SPDX-License-Identifier: BSD-3-Clause
// Answers over a layer that ends without its end mark: an attacker may have cut them off. So an answer that ends with
// the connection fails, while an answer with a length does not.
#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>
#include <tests/support/sealed/sealed_port.h>

namespace peal {
namespace {

class HttpTruncatedAnswerTest : public test::HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    client_options.client.connection.layer = &layer_;
  }
  // Starts a server that answers every request with sealed `text` and FIN; the end mark is sent only if `marks` is set.
  std::string serve_sealed(std::string_view text, bool marks) {
    std::string answer(test::kSealHello);
    test::seal(text, answer);
    if (marks) answer += test::kEndMark;
    test::HttpScript& server = serve(nullptr);
    server.on_bytes = [this, answer](Connection& connection, Buffer&) {
      ++asked;
      connection.send(answer);
      connection.close();
    };
    return server.url();
  }

  int asked = 0;

 private:
  const test::SealedLayer layer_;
};

TEST_P(HttpTruncatedAnswerTest, that_lasts_until_the_end_fails) {
  constexpr std::string_view kText = "HTTP/1.1 200 OK\r\n\r\nuntil the end";
  EXPECT_EQ(fetch(HttpClientRequest(serve_sealed(kText, true))).value().body, "until the end");
  EXPECT_EQ(error_of_fetch(HttpClientRequest(serve_sealed(kText, false))), Trouble::kTruncated);
}

TEST_P(HttpTruncatedAnswerTest, that_is_complete_by_its_length_is_complete) {
  EXPECT_EQ(fetch(HttpClientRequest(serve_sealed(test::http_ok("whole"), false))).value().body, "whole");
  EXPECT_EQ(fetch(HttpClientRequest(serve_sealed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                                 "5\r\nwhole\r\n0\r\n\r\n",
                                                 false)))
                .value()
                .body,
            "whole");
}

TEST_P(HttpTruncatedAnswerTest, that_is_cut_short_fails) {
  for (const std::string_view text : {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nCont",
                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n"}) {
    EXPECT_EQ(error_of_fetch(HttpClientRequest(serve_sealed(text, false))), Trouble::kTruncated) << text;
  }
  EXPECT_EQ(asked, 3) << "a first request is not sent again";
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(HttpTruncatedAnswerTest);

}  // namespace
}  // namespace peal
