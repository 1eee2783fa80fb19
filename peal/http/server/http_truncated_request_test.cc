// SPDX-License-Identifier: BSD-3-Clause
// Tests a request over a layer whose input ends without the layer's end mark, before the request is complete. It must
// not be handled.
#include <sys/socket.h>

#include <tests/support/http_rig.h>
#include <tests/support/tested_engines.h>

namespace peal {
namespace {

class HttpTruncatedRequestTest : public test::HttpTest {};

TEST_P(HttpTruncatedRequestTest, reaches_nobody_and_is_told_as_abandoned) {
  int handled = 0;
  int whole = 0;
  int abandoned = 0;
  Router router;
  router.post("/", [&](HttpExchange& exchange) {
    ++handled;
    exchange.on_abandoned([&](HttpExchange&) { ++abandoned; });
    exchange.read_body([&](HttpExchange&, std::string&&) { ++whole; });
  });
  serve(std::move(router));
  int begun = 0;
  for (const std::string_view part : {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf",
                                      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
                                      "POST / HTTP/1.1\r\nHost: a\r\nConte"}) {
    RawPeer one = peer_sending(part);
    if (part.contains("\r\n\r\n")) ++begun;
    ASSERT_TRUE(wait_until([&] { return handled == begun; }));
    ASSERT_EQ(::shutdown(one.fd(), SHUT_WR), 0);  // without the end mark
    EXPECT_EQ(all_of(one), "") << part;
    EXPECT_TRUE(wait_until([&] { return abandoned == begun; }));
  }
  EXPECT_EQ(handled, 2);
  EXPECT_EQ(whole, 0);
}

PEAL_TEST_ON(sealed, HttpTruncatedRequestTest, test::sealed(test::kernel_engines()));

}  // namespace
}  // namespace peal
