// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/warnings.h>

#include <gmock/gmock.h>

namespace peal::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class WarningsTest : public testing::Test {
 protected:
  WarningsTest() {
    snapshot.taken = std::chrono::sys_days(std::chrono::year(2026) / 11 / 29);
    snapshot.now = TimePoint(std::chrono::hours(5));
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const Warning& each : warnings_of(snapshot)) texts.push_back(each.link + ": " + each.what);
    return texts;
  }
  Snapshot snapshot;
};

TEST_F(WarningsTest, a_healthy_process_has_none) {
  snapshot.loops.push_back({.answered = true});
  snapshot.loops.push_back({.ended = true});
  snapshot.servers.push_back({.layer = LayerStats{}});
  snapshot.process.open_fds = 9;
  snapshot.process.most_fds = 10;
  snapshot.marks = {.soft_bytes = 100, .hard_bytes = 200};
  snapshot.held_bytes = 100;
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(WarningsTest, a_loop_that_does_not_answer) {
  snapshot.loops.push_back({.number = 1, .silent = milliseconds(2100), .thread = "peal-1"});
  EXPECT_THAT(warnings(), ElementsAre("/loops: loop 1 (peal-1) has not answered for 2.1 s"));
}

TEST_F(WarningsTest, certificates_from_two_weeks_before_their_end) {
  const auto at = [&](auto from_now) {
    LayerStats layer;
    layer.valid_until = std::chrono::floor<seconds>(snapshot.taken) + from_now;
    return layer;
  };
  snapshot.servers.push_back({.number = 0, .name = "api", .layer = at(std::chrono::days(14))});
  snapshot.servers.push_back({.number = 1, .name = "api", .layer = at(std::chrono::days(14) - seconds(1))});
  snapshot.servers.push_back({.number = 2, .name = "admin", .layer = at(-std::chrono::hours(3))});
  EXPECT_THAT(warnings(), ElementsAre("/server/1: a certificate of server 1 (api) expires in 13 d 23 h",
                                      "/server/2: a certificate of server 2 (admin) expired 3:00:00 ago"));
}

TEST_F(WarningsTest, memory_above_a_mark) {
  snapshot.marks = {.soft_bytes = 100, .hard_bytes = 200};
  snapshot.held_bytes = 101;
  EXPECT_THAT(warnings(), ElementsAre("/memory: the process holds more memory than the soft mark: reading pauses, and "
                                      "the largest connections are closed"));
  snapshot.held_bytes = 201;
  EXPECT_THAT(warnings(),
              ElementsAre("/memory: the process holds more memory than the hard mark: connections that need "
                          "more are closed"));
}

TEST_F(WarningsTest, few_file_descriptors_left) {
  snapshot.process.open_fds = 91;
  snapshot.process.most_fds = 100;
  EXPECT_THAT(warnings(), ElementsAre("/proc/limits: 91 of at most 100 file descriptors are open"));
}

TEST_F(WarningsTest, stalls_of_the_last_ten_minutes) {
  const auto stall = [&](Duration ago, Duration lasting) {
    Stall made;
    made.found = snapshot.now - ago;
    made.lasting = lasting;
    snapshot.stalls.push_back(made);
  };
  stall(seconds(601), seconds(9));
  EXPECT_THAT(warnings(), IsEmpty());
  stall(seconds(600), milliseconds(150));
  EXPECT_THAT(warnings(), ElementsAre("/stalls: a stall of the last ten minutes held a loop for 150 ms or longer"));
  stall(seconds(1), seconds(2));
  EXPECT_THAT(warnings(), ElementsAre("/stalls: 2 stalls of the last ten minutes held a loop for 2 s or longer"));
}

}  // namespace
}  // namespace peal::detail
