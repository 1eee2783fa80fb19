// SPDX-License-Identifier: BSD-3-Clause
// A relay pipes its clients to a server behind it, and drains. At the deadline the drain cuts off the clients, and with
// them the connections at the other end of their pipes. The report of the drain came before the pipes had ended. A
// program that then ended the loop, or destroyed what the callbacks of the pipes use, did so too early. Now the report
// comes after the last pipe has ended.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <peal/net/pipe.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class DrainWaitsForItsPipes : public test::NetTest {};
PEAL_TEST_ON_EVERY_ENGINE(DrainWaitsForItsPipes);

TEST_P(DrainWaitsForItsPipes, report_comes_after_every_pipe_that_was_cut_off_has_ended) {
  for (const bool splice : {true, false}) {
    journal.clear();
    std::unique_ptr<Server> behind = serve(test::echoing());
    const SocketAddress target = address();
    std::vector<std::unique_ptr<Client>> upstreams;
    int piped = 0;
    auto on_open = [&](Connection& client) {
      client.pause();
      auto join = [&, client = client.handle()](Connection& upstream) {
        client.run([&, upstream = upstream.handle()](Connection& here) {
          upstream.run([&](Connection& there) {
            EXPECT_TRUE(pipe(here, there, {.splice = splice}, [&](const PipeReport&) { journal.add("a pipe ended"); }));
            ++piped;
          });
        });
      };
      upstreams.push_back(std::make_unique<Client>(client.loop(), ConnectionCallbacks{.on_open = std::move(join)}));
      EXPECT_TRUE(upstreams.back()->connect(target));
    };
    std::unique_ptr<Server> relay = serve({.on_open = on_open});
    std::vector<RawPeer> peers(3);
    for (RawPeer& peer : peers) {
      peer.connect(address());
      peer.send("hello");
      ASSERT_TRUE(wait_until([&] { return peer.pump() && peer.received() == "hello"; }));
    }
    ASSERT_TRUE(wait_until([&] { return piped == 3; }));
    relay->drain(std::chrono::milliseconds(1), [&](const DrainReport& report) {
      EXPECT_EQ(report.forced, 3u);
      journal.add("drained");
    });
    EXPECT_TRUE(wait_until([&] { return journal.lines().size() == 4; }));
    EXPECT_EQ(journal.lines().back(), "drained");
    ask([&] { upstreams.clear(); });
  }
}

}  // namespace
}  // namespace peal
