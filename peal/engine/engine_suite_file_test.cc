// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, file ranges: they are sent in order with other output, cost little memory, and can fail.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <peal/engine/turn_budget.h>
#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class EngineFile : public EngineTest {
 protected:
  // Returns an open file whose name is removed already.
  static std::shared_ptr<const Fd> make_file(const std::string& bytes) {
    std::string path = std::filesystem::temp_directory_path() / "peal-file-XXXXXX";
    auto file = std::make_shared<Fd>(::mkostemp(path.data(), O_CLOEXEC));
    EXPECT_TRUE(static_cast<bool>(*file)) << path;
    ::unlink(path.c_str());
    EXPECT_EQ(::write(file->get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(::lseek(file->get(), 3, SEEK_SET), 3);
    return file;
  }
  void send_file(StreamLog& stream, const std::shared_ptr<const Fd>& file, uint64_t offset, uint64_t bytes) {
    rig().engine().send_file(stream.id, {file, offset, bytes});
  }
};
PEAL_SUITE_ON_EVERY_LAYER(EngineFile);

TEST_P(EngineFile, ranges_keep_their_place_among_what_is_sent) {
  auto [client, server] = rig().pair(kTightBuffers, kTightBuffers);
  const std::string bytes = pattern(2'000'000);
  auto file = make_file(bytes);
  client.receive();
  EXPECT_EQ(server.send("head "), 5U);
  send_file(server, file, 0, 700'000);
  const size_t held = server.send("middle ");
  EXPECT_EQ(held, rig().engine().held_bytes(server.id));
  EXPECT_GE(held, 12U);
  EXPECT_LE(held, 4096U) << "the bytes of a range count as memory";
  EXPECT_LE(server.send_blocks(Buffer("again ")), 4096U);
  send_file(server, file, 700'000, 1'300'000);
  send_file(server, file, 10, 0);
  send_file(server, file, 5, 1);
  EXPECT_LE(server.send(" tail"), 4096U);
  EXPECT_EQ(server.queued(), 2'000'024U);
  server.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_TRUE(same_bytes(client.received, "head " + bytes.substr(0, 700'000) + "middle again " + bytes.substr(700'000) +
                                              bytes[5] + " tail"));
  EXPECT_EQ(server.queued(), 0U);
  if (!test::is_layered(GetParam())) {
    EXPECT_EQ(rig().stats().file_bytes, 2'000'001U);
    EXPECT_EQ(rig().stats().sent_bytes, 2'000'024U);
  }
  EXPECT_EQ(::lseek(file->get(), 0, SEEK_CUR), 3) << "the file's position moved";
  EXPECT_EQ(file.use_count(), 1) << "the engine keeps the file open";
}

TEST_P(EngineFile, waits_for_a_reader_that_half_closed_and_is_slow) {
  auto [client, server] = rig().pair(kTightBuffers, kTightBuffers);
  const std::string bytes = pattern(5'000'000);
  auto file = make_file(bytes);
  server.receive();
  server.when_ended = [&] {
    send_file(server, file, 0, bytes.size());
    server.report_sent();
    server.shutdown_send();
  };
  client.shutdown_send();
  rig().settle();
  EXPECT_GT(server.queued(), 4'000'000U) << "who reads nothing was sent nearly all";
  EXPECT_LE(BlockPool::here().stats().blocks_in_use, 1024U);
  client.when_received = [&] { client.receive(false); };
  while (!client.ended) {
    size_t before = client.receive_count;
    client.receive(true);
    ASSERT_TRUE(rig().run_until([&] { return client.receive_count > before || client.ended; }));
  }
  EXPECT_TRUE(same_bytes(client.received, bytes));
  ASSERT_TRUE(rig().run_until([&] { return !server.sent_reports.empty() && server.sent_reports.back() == 0; }));
}

TEST_P(EngineFile, sent_from_a_callback_and_while_connecting) {
  const std::string bytes = pattern(100'000);
  auto file = make_file(bytes);
  AcceptLog& acceptor = rig().listen();
  StreamLog& client = rig().connect(acceptor.address);
  send_file(client, file, 0, bytes.size());
  client.send("!");
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return !acceptor.accepted.empty(); }));
  StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
  server.receive();
  server.when_received = [&] {
    if (server.received.size() != bytes.size() + 1) return;
    send_file(server, file, 1, 9);
    server.send("?");
    server.shutdown_send();
  };
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_TRUE(same_bytes(server.received, bytes + "!"));
  EXPECT_EQ(client.received, bytes.substr(1, 9) + "?");
}

TEST_P(EngineFile, shorter_than_its_range_fails_the_output) {
  auto [client, server] = rig().pair();
  auto file = make_file(pattern(1000));
  client.receive();
  send_file(server, file, 0, 1001);
  server.send("never sent");
  ASSERT_TRUE(rig().run_until([&] { return server.send_failures > 0; }));
  EXPECT_EQ(server.send_error, std::errc::io_error);
  EXPECT_EQ(server.queued(), 0U);
  EXPECT_EQ(file.use_count(), 1);
  send_file(server, file, 0, 10);
  EXPECT_EQ(server.queued(), 0U) << "a failed output takes no more";
  server.close();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_TRUE(same_bytes(client.received, pattern(1000)));
}

TEST_P(EngineFile, peer_that_resets_raises_no_signal) {
  auto [client, server] = rig().pair(kTightBuffers, kTightBuffers);
  auto file = make_file(pattern(3'000'000));
  send_file(server, file, 0, 3'000'000);
  rig().settle();
  client.close(CloseHow::kReset);
  ASSERT_TRUE(rig().run_until([&] { return server.send_failures > 0; }));
  EXPECT_EQ(file.use_count(), 1);
  auto [other, again] = rig().pair();
  other.close(CloseHow::kReset);
  ASSERT_TRUE(rig().run_beside([&] {
    if (again.send_failures == 0) send_file(again, file, 0, 10);
    return again.send_failures > 0;
  }));
}

TEST_P(EngineFile, closed_while_it_waits_lets_go_of_the_file) {
  auto [client, server] = rig().pair(kTightBuffers, kTightBuffers);
  auto file = make_file(pattern(3'000'000));
  send_file(server, file, 0, 3'000'000);
  server.send("behind");
  send_file(server, file, 0, 3'000'000);
  rig().settle();
  server.close();
  ASSERT_TRUE(rig().run_until([&] { return server.closed; }));
  EXPECT_EQ(file.use_count(), 1);
}

TEST_P(EngineFile, detach_waits_for_the_files) {
  auto [client, first] = rig().pair(kTightBuffers, kTightBuffers);
  const std::string bytes = pattern(1'000'000);
  auto file = make_file(bytes);
  send_file(first, file, 0, bytes.size());
  first.send("last");
  first.detach();
  rig().settle();
  EXPECT_FALSE(first.loose.has_value());
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return first.loose.has_value(); }));
  StreamLog& second = rig().adopt(std::move(*first.loose), "second");
  second.send(" but one");
  second.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_TRUE(same_bytes(client.received, bytes + "last but one"));
}

TEST_P(EngineFile, big_file_starves_nobody) {
  auto [reader, feeder] = rig().pair();
  auto [client, server] = rig().pair();
  auto file = make_file(pattern(8'000'000));
  send_file(feeder, file, 0, 8'000'000);
  reader.receive();
  client.receive();
  server.receive();
  server.when_received = [&] { server.send("pong"); };
  client.send("ping");
  ASSERT_TRUE(rig().run_until([&] { return client.received == "pong"; }));
  EXPECT_LT(reader.received.size(), 8'000'000U) << "the file went first, and alone";
  ASSERT_TRUE(rig().run_until([&] { return reader.received.size() == 8'000'000U; }));
  EXPECT_TRUE(same_bytes(reader.received, pattern(8'000'000)));
}

// A turn once sent a mebibyte of each stream that had a file, and again after each of its events. That made 286 MB in
// one turn, while small requests waited.
TEST_P(EngineFile, many_big_files_share_the_budget_of_a_turn) {
  constexpr size_t kStreams = 16;
  const std::string bytes = pattern(3'000'000);
  auto file = make_file(bytes);
  std::vector<EngineRig::Pair> pairs;
  for (size_t i = 0; i < kStreams; ++i) {
    pairs.push_back(rig().pair());
    pairs.back().client.receive();
  }
  for (auto& [reader, feeder] : pairs) {
    for (int part = 0; part < 3; ++part) {
      send_file(feeder, file, static_cast<uint64_t>(part) * 1'000'000, 1'000'000);
      feeder.send("|");
    }
  }
  size_t finished = 0;
  uint64_t sent_bytes = rig().stats().file_bytes;
  uint64_t most = 0;
  size_t least_got_at_first_finish = 0;
  ASSERT_TRUE(rig().run_until([&] {
    // This condition is checked after every wait().
    most = std::max(most, rig().stats().file_bytes - std::exchange(sent_bytes, rig().stats().file_bytes));
    finished = 0;
    size_t least = SIZE_MAX;
    for (auto& [reader, feeder] : pairs) {
      finished += reader.received.size() == 3'000'003 ? 1 : 0;
      least = std::min(least, reader.received.size());
    }
    if (finished > 0 && least_got_at_first_finish == 0) least_got_at_first_finish = least + 1;
    return finished == kStreams;
  }));
  EXPECT_LE(most, detail::kBulkTurnBytes);
  EXPECT_GT(least_got_at_first_finish, 100'000U) << "one was served before the others";
  const std::string expected =
      bytes.substr(0, 1'000'000) + "|" + bytes.substr(1'000'000, 1'000'000) + "|" + bytes.substr(2'000'000) + "|";
  for (auto& [reader, feeder] : pairs) EXPECT_TRUE(same_bytes(reader.received, expected));
}

}  // namespace
}  // namespace peal
