// SPDX-License-Identifier: BSD-3-Clause
// Files that change, before and while they are sent; slow readers; what is kept open and for how long.
#include <unistd.h>

#include <peal/base/memory/block_pool.h>
#include <tests/support/http/http_files_rig.h>
#include <tests/support/raw_peer.h>

namespace peal {
namespace {

namespace fs = std::filesystem;
using test::HttpAnswer;
using test::HttpTalk;

class StaticFilesChange : public test::HttpFilesTest {
 protected:
  // A reader whose kernel takes little, so that most of a large file is still to be sent.
  static constexpr ConnectOptions kTight{.socket = {.receive_buffer_bytes = 16 * 1024}};
  std::unique_ptr<HttpTalk> slow_reader(const char* target) {
    auto talk = std::make_unique<HttpTalk>(loop(), address(), request("GET", target, {}), true, kTight);
    EXPECT_TRUE(run_until([&] { return !talk->received().empty(); }));
    return talk;
  }
  // Reads on, piece by piece.
  void read_to_end(HttpTalk& talk) {
    talk.set_pauses(false);
    talk.resume();
    EXPECT_TRUE(run_until([&] { return talk.ended(); }));
  }
};
PEAL_TEST_ON_EVERY_PORT_AND_SIM(StaticFilesChange);

TEST_P(StaticFilesChange, a_file_that_was_changed_in_place_or_replaced_is_seen_at_once) {
  write("a.txt", "first");
  serve_files({.cache_validity = std::chrono::hours(1)});
  const HttpAnswer first = get("/a.txt");
  EXPECT_EQ(first.body, "first");
  write("a.txt", "second, longer");
  const HttpAnswer second = get("/a.txt", "If-None-Match: " + first.field("ETag") + "\r\n");
  EXPECT_EQ(second.body, "second, longer");
  write("new.txt", "third");
  fs::rename(root() / "new.txt", root() / "a.txt");
  const HttpAnswer third = get("/a.txt", "If-None-Match: " + second.field("ETag") + "\r\n");
  EXPECT_EQ(third.body, "third");
  fs::remove(root() / "a.txt");
  EXPECT_EQ(get("/a.txt").status, 404);
  write("a.txt", "back");
  EXPECT_EQ(get("/a.txt").body, "back");
}

TEST_P(StaticFilesChange, who_is_being_sent_a_file_gets_all_of_the_one_it_was) {
  const std::string content = pattern(20'000'000);  // more than the kernel takes for who reads nothing
  write("large", content);
  serve_files();
  const auto talk = slow_reader("/large");
  write("other", "other");
  fs::rename(root() / "other", root() / "large");
  EXPECT_EQ(get("/large").body, "other");
  read_to_end(*talk);
  const HttpAnswer answer = test::read_answer(talk->received(), false);
  EXPECT_TRUE(answer.complete);
  EXPECT_TRUE(same_bytes(answer.body, content));
}

TEST_P(StaticFilesChange, a_file_cut_short_while_it_is_sent_ends_the_connection) {
  const std::string content = pattern(20'000'000);  // more than the kernel takes for who reads nothing
  write("large", content);
  serve_files();
  const auto talk = slow_reader("/large");
  ASSERT_EQ(::truncate((root() / "large").c_str(), 15'000'000), 0);
  read_to_end(*talk);
  const HttpAnswer answer = test::read_answer(talk->received(), false);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Length"), "20000000");
  EXPECT_FALSE(answer.complete) << "the client is told that this is all";
  EXPECT_TRUE(same_bytes(answer.body, content.substr(0, answer.body.size()))) << "rubbish was sent";
  EXPECT_LE(answer.body.size(), 15'000'000U);
}

TEST_P(StaticFilesChange, slow_readers_cost_no_memory) {
  // A hole, so that it costs no disk either.
  write("huge", "");
  fs::resize_file(root() / "huge", 1'000'000'000);
  serve_files();
  const uint64_t before = BlockPool::here().stats().bytes_in_use;
  std::vector<std::unique_ptr<HttpTalk>> talks;
  for (int at = 0; at < 8; ++at) talks.push_back(slow_reader("/huge"));
  run_for(std::chrono::milliseconds(5));
  EXPECT_LT(BlockPool::here().stats().bytes_in_use - before, 8U * 1024 * 1024);
  for (const auto& talk : talks) EXPECT_EQ(test::read_answer(talk->received(), false).status, 200);
}

TEST_P(StaticFilesChange, no_more_files_stay_open_than_may_and_none_for_long) {
  if (!is_simulated()) GTEST_SKIP() << "ten seconds go by at once only in the simulator";
  serve_files({.cached_files = 5});
  const size_t fds = count_open_fds();
  for (int at = 0; at < 20; ++at) {
    const std::string name = "file" + std::to_string(at);
    write(name, pattern(50'000));
    ASSERT_EQ(get("/" + name).status, 200);
  }
  EXPECT_EQ(count_open_fds(), fds + 5);
  ASSERT_EQ(get("/file19").status, 200);
  EXPECT_EQ(count_open_fds(), fds + 5);
  run_for(std::chrono::seconds(25));
  EXPECT_EQ(count_open_fds(), fds) << "nobody asked any more";
}

TEST_P(StaticFilesChange, a_sibling_that_appears_is_seen_within_the_second) {
  if (!is_simulated()) GTEST_SKIP() << "a second goes by at once only in the simulator";
  write("a.css", "plain");
  age("a.css", -10);
  serve_files();
  EXPECT_EQ(get("/a.css", "Accept-Encoding: gzip\r\n").body, "plain");
  write("a.css.gz", "packed");
  run_for(std::chrono::milliseconds(1001));
  EXPECT_EQ(get("/a.css", "Accept-Encoding: gzip\r\n").body, "packed");
}

TEST_P(StaticFilesChange, out_of_descriptors_is_503_and_not_the_end) {
  if (is_simulated()) GTEST_SKIP() << "its sockets are no descriptors";
  write("a.txt", "a");
  serve_files({.cached_files = 0});
  HttpAnswer answer;
  {
    RawPeer peer = RawPeer::connected(address());
    EXPECT_TRUE(run_until([&] { return server().connections() == 1; }));
    FdExhaustion famine;
    famine.fill();
    peer.send(request("GET", "/a.txt", {}));
    EXPECT_TRUE(run_until([&] { return !peer.pump(); }));
    answer = test::read_answer(peer.received(), false);
  }
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(get("/a.txt").status, 200);
}

}  // namespace
}  // namespace peal
