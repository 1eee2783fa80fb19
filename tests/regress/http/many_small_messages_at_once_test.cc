// SPDX-License-Identifier: BSD-3-Clause
// One read may bring four blocks full of small messages. Code that searched the whole input for the end of each message
// had the blocks joined for each message. So 60 KiB were copied into a new block for a request of 27 bytes.
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/co_server.h>
#include <peal/http/server/http_server.h>
#include <tests/support/http_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

class ManySmallMessages : public test::SimTest {
 protected:
  static constexpr int kMany = 6000;
  static constexpr uint64_t kFew = 300;

  static SimOptions wide() { return {.send_buffer_bytes = 1 << 20, .receive_buffer_bytes = 1 << 20}; }
  static std::string many(std::string_view one) {
    std::string all;
    for (int i = 0; i < kMany; ++i) all += one;
    return all;
  }
  // Sends `all` at once and waits until kMany answers have come. Returns how many blocks were allocated meanwhile.
  static uint64_t blocks_made(test::SimPair& pair, const SocketAddress& server, const std::string& all,
                              std::string_view answer) {
    std::string heard;
    ConnectionCallbacks callbacks;
    callbacks.on_open = [&](Connection& connection) { connection.send(all); };
    callbacks.on_message = test::hearing(heard);
    Client client(*pair.there, std::move(callbacks));
    const uint64_t before = BlockPool::here().stats().allocations;
    EXPECT_TRUE(client.connect(server));
    EXPECT_TRUE(pair.run_until([&] { return heard.ends_with(answer) && test::count_of(heard, answer) == kMany; }));
    return BlockPool::here().stats().allocations - before;
  }
};

TEST_F(ManySmallMessages, requests_are_copied_only_if_they_cross_blocks) {
  on_seeds(1, wide(), [](test::SimPair& pair) {
    Router router;
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200, {}, "world!"); });
    HttpServer server(*pair.here, std::move(router));
    const SocketAddress address = pair.listen(server);
    for (const std::string empty_lines : {"", "\r\n"}) {
      const std::string all = many(empty_lines + "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      EXPECT_LT(blocks_made(pair, address, all, "world!"), kFew);
    }
  });
}

TEST_F(ManySmallMessages, lines_that_coroutines_read_are_copied_only_if_they_cross_blocks) {
  on_seeds(1, wide(), [](test::SimPair& pair) {
    CoServer server(*pair.here, [](Stream stream) -> Task<> {
      while (auto line = co_await stream.read_until("\n")) {
        if (line->empty() || !co_await stream.write(std::move(*line))) break;
      }
    });
    EXPECT_LT(blocks_made(pair, pair.listen(server), many("a line of some length\n"), "length\n"), kFew);
  });
}

}  // namespace
}  // namespace peal
