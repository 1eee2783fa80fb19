// SPDX-License-Identifier: BSD-3-Clause
// Simulator tests for a stop that hangs, crashes, or cuts off answers. A drain loses no byte of an answer. The numbers
// in the report of a drain that is cut short add up. A loop may be stopped in any callback. safe_stop_tcp_test.cc tests
// the other engines.
#include <deque>
#include <optional>
#include <string>

#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kVisitors = 10;

class SimSafeStop : public test::SimTest {
 protected:
  // How much the clients of one world have received.
  struct Visit {
    std::deque<Client> clients;
    size_t opened = 0;
    size_t asked = 0;
    size_t got = 0;
    size_t ended = 0;
    bool intact = true;
  };
  static char byte_at(size_t at) { return static_cast<char>((at * 131 + at / 251) % 253); }
  static std::string answer_of(size_t size) {
    std::string answer(size, '\0');
    for (size_t i = 0; i < size; ++i) answer[i] = byte_at(i);
    return answer;
  }
  // Each client sends one request, and pauses for `slowness` after each piece of the answer.
  static void come(test::SimPair& pair, const SocketAddress& target, Visit& visit, Duration slowness) {
    for (size_t i = 0; i < kVisitors; ++i) {
      ConnectionCallbacks callbacks;
      callbacks.on_open = [&visit](Connection& connection) {
        ++visit.opened;
        connection.send("?");
      };
      callbacks.on_message = [&visit, slowness](Connection& connection, Buffer& input) {
        size_t at = connection.received_bytes() - input.size();
        for (char byte : input.view()) visit.intact &= byte == byte_at(at++);
        visit.got += input.size();
        input.clear();
        if (slowness == Duration::zero()) return;
        connection.pause();
        connection.loop().after(
            slowness, [handle = connection.handle()] { handle.run([](Connection& later) { later.resume(); }); });
      };
      callbacks.on_close = [&visit](Connection&, CloseReason) { ++visit.ended; };
      visit.clients.emplace_back(*pair.there, std::move(callbacks));
      ASSERT_TRUE(visit.clients.back().connect(target));
    }
  }
  static ConnectionCallbacks answering(const std::string& answer, Visit& visit) {
    return {.on_message = [&](Connection& connection, Buffer& input) {
      input.clear();
      connection.send(answer);
      ++visit.asked;
    }};
  }
};

TEST_F(SimSafeStop, drain_loses_no_byte_of_an_answer) {
  const std::string answer = answer_of(40'000);
  on_seeds(200, rough(), [&](test::SimPair& pair) {
    Visit visit;
    Server server(*pair.here, answering(answer, visit));
    come(pair, pair.listen(server), visit, Duration::zero());
    ASSERT_TRUE(pair.run_until([&] { return visit.asked == kVisitors; }));
    std::optional<DrainReport> report;
    server.drain(seconds(20), [&](const DrainReport& done) { report = done; });
    ASSERT_TRUE(pair.run_until([&] { return report && visit.ended == kVisitors; }));
    EXPECT_EQ(report->finished, kVisitors);
    EXPECT_EQ(report->forced + report->lost_bytes + report->lost_in_kernel_bytes, 0u);
    EXPECT_EQ(visit.got, kVisitors * answer.size());
    EXPECT_TRUE(visit.intact);
  });
}

TEST_F(SimSafeStop, report_of_a_drain_that_is_cut_short_adds_up) {
  const std::string answer = answer_of(60'000);
  uint64_t cut_short = 0;
  on_seeds(200, rough(), [&](test::SimPair& pair) {
    Visit visit;
    Server server(*pair.here, answering(answer, visit));
    come(pair, pair.listen(server), visit, milliseconds(3));
    ASSERT_TRUE(pair.run_until([&] { return visit.asked == kVisitors; }));
    std::optional<DrainReport> report;
    server.drain(milliseconds(static_cast<int64_t>(pair.seed % 20)), [&](const DrainReport& done) { report = done; });
    ASSERT_TRUE(pair.run_until([&] { return report && visit.ended == kVisitors; }));
    EXPECT_EQ(report->finished + report->forced, kVisitors);
    // Bytes that were not acknowledged may have arrived nevertheless.
    const size_t missing = kVisitors * answer.size() - visit.got;
    EXPECT_GE(missing, report->lost_bytes);
    EXPECT_LE(missing, report->lost_bytes + report->lost_in_kernel_bytes);
    EXPECT_TRUE(visit.intact);
    cut_short += report->forced > 0 && report->lost_bytes > 0;
  });
  if (all_seeds()) {
    EXPECT_GT(cut_short, 50u);
  }
}

TEST_F(SimSafeStop, drain_in_a_hostile_world_is_over_by_its_deadline) {
  const std::string answer = answer_of(60'000);
  on_seeds(300, SimOptions::hostile(), [&](test::SimPair& pair) {
    Visit visit;
    Server server(*pair.here, answering(answer, visit));
    come(pair, pair.listen(server), visit, milliseconds(1));
    pair.run_for(milliseconds(static_cast<int64_t>(pair.seed % 30)));
    const NetStats before = server.stats();
    const TimePoint begin = pair.world.now();
    std::optional<DrainReport> report;
    server.drain(seconds(1), [&](const DrainReport& done) { report = done; });
    ASSERT_TRUE(pair.run_until([&] { return report.has_value(); }));
    EXPECT_LE(pair.world.now() - begin, seconds(1) + milliseconds(10));
    EXPECT_EQ(server.connections(), 0u);
    EXPECT_GE(report->finished + report->forced, before.opened - before.closed);
    EXPECT_TRUE(visit.intact);
    const NetStats after = server.stats();
    EXPECT_EQ(after.opened, after.closed);
  });
}

TEST_F(SimSafeStop, loop_may_be_stopped_in_each_callback) {
  on_seeds(300, SimOptions::hostile(), [&](test::SimPair& pair) {
    static constexpr std::string_view kPlaces[] = {"open", "message", "close", "drain"};
    const std::string_view where = kPlaces[pair.seed % std::size(kPlaces)];
    int opened = 0;
    int closed = 0;
    auto stop_in = [&](std::string_view here) {
      if (here == where) pair.here->stop();
    };
    Visit visit;
    bool asked = false;
    bool told = false;
    Server server(*pair.here, {.on_open =
                                   [&](Connection&) {
                                     ++opened;
                                     stop_in("open");
                                   },
                               .on_message =
                                   [&](Connection& connection, Buffer& input) {
                                     input.clear();
                                     connection.send(std::string(20'000, 'z'));
                                     stop_in("message");
                                     connection.close();
                                   },
                               .on_drain = [&](Connection&) { stop_in("drain"); },
                               .on_close =
                                   [&](Connection&, CloseReason) {
                                     ++closed;
                                     stop_in("close");
                                   }});
    come(pair, pair.listen(server), visit, milliseconds(1));
    pair.here->after(milliseconds(pair.seed % 7), [&] {
      asked = true;
      server.drain(seconds(5), [&](const DrainReport&) { told = true; });
    });
    pair.run_for(seconds(60));
    EXPECT_EQ(opened, closed);
    EXPECT_EQ(told, asked);
    EXPECT_EQ(server.connections(), 0u);
  });
}

}  // namespace
}  // namespace peal
