// SPDX-License-Identifier: BSD-3-Clause
// Many requests in a bad network, on many seeds: each request ends exactly once, and each answer is right.
#include <map>

#include <peal/http/client/http_client.h>
#include <tests/support/engine_rig.h>
#include <tests/support/http_script.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;
using test::SimPair;

class HttpClientSimTest : public test::SimTest {
 protected:
  // Answers "/n" with n bytes of a pattern. Depending on n, the body has a Content-Length, comes in chunks, or ends
  // with the connection.
  static void answer(Connection& connection, const HttpScript::Request& request) {
    const size_t size = std::stoul(request.what().substr(request.what().find('/') + 1));
    const std::string body = pattern(size);
    if (size % 3 == 0) {
      connection.send(http_ok(body));
      return;
    }
    if (size % 3 == 1) {
      std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
      for (size_t at = 0; at < size; at += 1000) {
        const std::string piece = body.substr(at, 1000);
        text += fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
      }
      connection.send(text + "0\r\n\r\n");
      return;
    }
    connection.send("HTTP/1.0 200 OK\r\n\r\n" + body);
    connection.close();
  }

  // Sends many requests and returns how many were answered.
  size_t ask_for_many(SimPair& pair) {
    constexpr size_t kRequests = 60;
    HttpClientOptions options;
    options.most_per_origin = 4;
    options.idle_timeout = std::chrono::milliseconds(5);
    options.client.connect_timeout = std::chrono::seconds(2);
    options.deadlines = {.queue = std::chrono::minutes(5), .first_byte = std::chrono::seconds(5)};
    options.deadlines.total = std::chrono::minutes(10);
    const double no_fd = std::exchange(pair.world.options().no_fd, 0);
    // The server's idle_timeout ends connections of clients that have vanished.
    HttpScript server(*pair.here, answer, "127.0.0.1:0", {.connection = {.idle_timeout = std::chrono::minutes(10)}});
    pair.world.options().no_fd = no_fd;
    std::map<size_t, int> ended;
    size_t answered = 0;
    {
      HttpClient client(*pair.there, options);
      for (size_t i = 0; i < kRequests; ++i) {
        const size_t size = i * 1237 % 70000;
        pair.there->after(std::chrono::milliseconds(i * 3 / 2), [&, i, size] {
          const HttpClientRequest request(i % 4 == 3 ? "PUT" : "GET", server.url("/" + std::to_string(size)),
                                          i % 4 == 3 ? pattern(i * 999) : std::string());
          const auto id = client.fetch(request, [&, i, size](Result<HttpResponse> response) {
            ++ended[i];
            if (!response) return;
            ++answered;
            // If a body ends with its connection, a broken connection would look like the end of the body.
            EXPECT_TRUE(same_bytes(response->body, pattern(size))) << size % 3;
          });
          EXPECT_TRUE(id);
        });
      }
      EXPECT_TRUE(pair.run_until([&] { return ended.size() == kRequests; }, std::chrono::hours(2)));
      // Connections that are still being opened but not needed any more have time to open or to fail.
      pair.run_for(std::chrono::seconds(5));
      for (const auto& [number, times] : ended) EXPECT_EQ(times, 1) << number;
      EXPECT_EQ(client.stats().answered, answered);
      EXPECT_EQ(client.stats().failed, kRequests - answered);
      EXPECT_EQ(client.stats().waiting, 0u);
      EXPECT_EQ(client.stats().connections, 0u) << "idle for too long";
    }
    EXPECT_TRUE(pair.run_until([&] { return server.open() == 0; }));
    return answered;
  }
};

TEST_F(HttpClientSimTest, a_slow_and_rough_network_loses_nothing) {
  on_seeds(20, rough(), [this](SimPair& pair) { EXPECT_EQ(ask_for_many(pair), 60u); });
}

TEST_F(HttpClientSimTest, in_a_hostile_network_each_request_ends_once) {
  size_t answered = 0;
  on_seeds(20, SimOptions::hostile(), [&](SimPair& pair) { answered += ask_for_many(pair); });
  if (all_seeds()) {
    EXPECT_GT(answered, 300u);
    EXPECT_LT(answered, 1200u);
  }
}

}  // namespace
}  // namespace peal
