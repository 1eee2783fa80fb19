// SPDX-License-Identifier: BSD-3-Clause
// Many requests through a proxy's tunnels in a bad network, on many seeds: each request ends exactly once, each answer
// is right, and no connection is left.
#include <vector>

#include <peal/http/client/http_client.h>
#include <peal/http/client/parts/tunnel_proxy_test.h>
#include <peal/wire/content/content_encoder.h>
#include <tests/support/engine_rig.h>
#include <tests/support/http_script.h>
#include <tests/support/sealed/sealed_port.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HttpScript;
using test::SimPair;

class HttpProxySimTest : public test::SimTest {
 protected:
  static std::string packed(std::string_view body) {
    ContentEncoder encoder(ContentCoding::kGzip, {});
    Buffer output;
    encoder.begin();
    encoder.encode(body, ContentEncoder::Then::kEnd, output);
    return output.to_string();
  }
  // Sends many requests and returns how many were answered.
  size_t ask_for_many(SimPair& pair) {
    constexpr size_t kRequests = 40;
    const double no_fd = std::exchange(pair.world.options().no_fd, 0);
    const std::string body = pattern(50'000);
    const std::string coded = packed(body);
    HttpScript server(*pair.here,
                      [&](Connection& connection, const HttpScript::Request&) {
                        connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                                        std::to_string(coded.size()) + "\r\n\r\n" + coded);
                      },
                      // The server's idle_timeout ends connections of clients that have vanished.
                      "127.0.0.1:0", {.connection = {.idle_timeout = std::chrono::minutes(10), .layer = &layer_}});
    test::TestProxy proxy(*pair.here);
    pair.world.options().no_fd = no_fd;
    HttpClientOptions options;
    options.layer = &layer_;
    options.proxies.https = proxy.url();
    options.decode = true;
    options.most_per_origin = 4;
    options.idle_timeout = milliseconds(5);
    options.client.connect_timeout = seconds(2);
    options.retry.attempts = 3;
    options.deadlines = {.queue = std::chrono::minutes(5), .first_byte = seconds(5), .total = std::chrono::minutes(10)};
    std::vector<int> ended(kRequests);
    size_t answered = 0;
    {
      HttpClient client(*pair.there, options);
      const std::string url = server.secure_url();
      for (size_t at = 0; at < kRequests; ++at) {
        pair.there->after(milliseconds(at * 2), [&, at] {
          EXPECT_TRUE(client.fetch(HttpClientRequest(url), [&, at](const Result<HttpResponse>& response) {
            ++ended[at];
            if (!response) return;
            ++answered;
            EXPECT_TRUE(same_bytes(response->body, body));
          }));
        });
      }
      EXPECT_TRUE(pair.run_until([&] { return std::ranges::find(ended, 0) == ended.end(); }, std::chrono::hours(2)));
      pair.run_for(seconds(10));
      for (const int times : ended) EXPECT_EQ(times, 1);
      EXPECT_EQ(client.stats().connections, 0u);
      EXPECT_EQ(client.stats().waiting, 0u);
    }
    EXPECT_TRUE(pair.run_until([&] { return server.open() == 0; }));
    return answered;
  }

  const test::SealedLayer layer_;
};

TEST_F(HttpProxySimTest, a_slow_and_rough_network_loses_nothing) {
  on_seeds(10, rough(), [this](SimPair& pair) { EXPECT_EQ(ask_for_many(pair), 40u); });
}

TEST_F(HttpProxySimTest, in_a_hostile_network_each_request_ends_once) {
  size_t answered = 0;
  on_seeds(20, SimOptions::hostile(), [&](SimPair& pair) { answered += ask_for_many(pair); });
  EXPECT_TRUE(answered > 100 || !all_seeds()) << answered;
}

}  // namespace
}  // namespace peal
