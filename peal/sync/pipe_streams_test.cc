// SPDX-License-Identifier: BSD-3-Clause
// Tests of streams that call shutdown_send(), that send files, and that are joined by pipe().
#include <peal/sync/pipe_streams.h>

#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include <peal/coro/co_server.h>
#include <peal/coro/connect.h>
#include <peal/coro/when.h>
#include <peal/net/file_range.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;

// Reads until the end of the input. Appends the error, if there is one, in parentheses.
Task<std::string> read_all(Stream& stream) {
  std::string all;
  for (;;) {
    auto input = co_await stream.read();
    if (!input || input->empty()) co_return all + (input ? "" : "(" + input.error().message() + ")");
    all += input->to_string();
  }
}

class PipeStreamsTest : public test::TaskTest {
 protected:
  // Runs `call` as the client of a relay. The relay pipes each connection to one of a server that runs `serve`.
  void relay(const CoServer::SharedServe& serve, const std::function<Task<>(Stream&)>& call) {
    CoServer server(loop(), [&](Stream stream) { return serve(std::move(stream)); });
    const std::string upstream = server.listen("127.0.0.1:0").value().to_string();
    CoServer relays(loop(), [&](Stream stream) -> Task<> { return relays_to(upstream, std::move(stream)); });
    const std::string address = relays.listen("127.0.0.1:0").value().to_string();
    run([&]() -> Task<> {
      auto stream = co_await connect(address);
      EXPECT_TRUE(stream);
      co_await call(*stream);
      stream->close();
      co_await until([&] { return server.tasks() + relays.tasks() == 0; });
    });
  }
  Task<> relays_to(std::string upstream, Stream stream) {
    const auto ahead = co_await stream.read_exactly(reads_ahead);
    EXPECT_TRUE(ahead);
    auto there = co_await connect(upstream);
    EXPECT_TRUE(there);
    report = co_await pipe(stream, *there).within(patience);
    reasons = {stream.close_reason(), there->close_reason()};
    // The stream has ended, whether it was piped or cut off.
    EXPECT_FALSE(co_await stream.write("x"));
    EXPECT_EQ(error_of(co_await pipe(stream, *there)), errno_code(ENOTCONN));
    for (Stream* each : {&stream, &*there}) {
      const Result<Buffer> end = co_await each->read();
      EXPECT_EQ(end && end->empty(), each->close_reason() == CloseReason::kPeerClosed);
    }
  }

  Duration patience = hours(1);
  size_t reads_ahead = 0;
  Result<PipeReport> report;
  std::pair<std::optional<CloseReason>, std::optional<CloseReason>> reasons;
};

TEST_P(PipeStreamsTest, each_hears_the_other_and_fin_goes_through_on_its_own) {
  std::string heard;
  std::string answer;
  auto serves = [&](Stream stream) -> Task<> {
    heard = co_await read_all(stream);
    EXPECT_TRUE(co_await stream.write("answer"));
  };
  auto calls = [&](Stream& stream) -> Task<> {
    EXPECT_TRUE(co_await stream.write("question"));
    stream.shutdown_send();
    EXPECT_TRUE(co_await stream.flush());
    EXPECT_EQ(error_of(co_await stream.write("more")), errno_code(ESHUTDOWN));
    answer = co_await read_all(stream);
  };
  relay(serves, calls);
  EXPECT_EQ(heard, "question");
  EXPECT_EQ(answer, "answer");
  EXPECT_EQ(report.value().a_to_b_bytes, 8U);
  EXPECT_EQ(report.value().b_to_a_bytes, 6U);
  EXPECT_EQ(reasons.first, CloseReason::kPeerClosed);
}

TEST_P(PipeStreamsTest, what_was_read_ahead_goes_first_and_much_arrives_whole) {
  reads_ahead = 3;
  const std::string much(3 << 20, 'm');
  std::string heard;
  auto serves = [&](Stream stream) -> Task<> {
    auto head = co_await stream.read_exactly(4);
    heard = head.value().to_string();
    co_await sleep(milliseconds(2));
    heard += co_await read_all(stream);
  };
  auto calls = [&](Stream& stream) -> Task<> {
    // Sends all in one piece, so that the server receives more than the three bytes that it reads.
    EXPECT_TRUE(co_await stream.write("GETrest" + much));
    stream.shutdown_send();
    EXPECT_EQ(co_await read_all(stream), "");
  };
  relay(serves, calls);
  EXPECT_TRUE(heard == "rest" + much) << heard.size();
  EXPECT_EQ(report.value().a_to_b_bytes, 4 + much.size());
}

TEST_P(PipeStreamsTest, too_late_both_are_aborted) {
  patience = milliseconds(3);
  std::string heard;
  auto serves = [&](Stream stream) -> Task<> { heard = co_await read_all(stream); };
  auto calls = [&](Stream& stream) -> Task<> { EXPECT_FALSE(co_await stream.read()); };
  relay(serves, calls);
  EXPECT_EQ(error_of(report), errno_code(ETIMEDOUT));
  EXPECT_NE(heard, "") << "a reset";
}

TEST_P(PipeStreamsTest, the_reset_of_one_side_resets_the_other) {
  auto serves = [&](Stream stream) -> Task<> {
    EXPECT_TRUE(co_await stream.read());
    stream.abort();
  };
  auto calls = [&](Stream& stream) -> Task<> {
    EXPECT_TRUE(co_await stream.write("x"));
    EXPECT_FALSE(co_await stream.read());
  };
  relay(serves, calls);
  EXPECT_EQ(report.value().a_to_b_bytes, 1U);
  EXPECT_EQ(reasons.first, CloseReason::kPipeEnded);
}

TEST_P(PipeStreamsTest, cancelled_it_ends_at_once_and_both_streams_with_it) {
  run([&]() -> Task<> {
    CoServer server(loop(), [](Stream stream) -> Task<> { co_await read_all(stream); });
    const std::string address = server.listen("127.0.0.1:0").value().to_string();
    auto a = co_await connect(address);
    auto b = co_await connect(address);
    auto pipes = [&]() -> Task<> { report = co_await pipe(*a, *b); };
    Scope scope(loop());
    scope.spawn(pipes());
    co_await settle();
    scope.cancel();
    co_await scope.join();
    EXPECT_EQ(error_of(report), errno_code(ECANCELED));
    EXPECT_FALSE(a->is_open() || b->is_open());
  });
}

TEST_P(PipeStreamsTest, files_go_out_in_order_with_what_is_written) {
  const std::string path = testing::TempDir() + "/pipe_streams_" + std::to_string(::getpid());
  const std::string content(1 << 20, 'f');
  std::ofstream(path) << content;
  std::string heard;
  auto serves = [&](Stream stream) -> Task<> { heard = co_await read_all(stream); };
  auto calls = [&](Stream& stream) -> Task<> {
    const auto file = open_file(path);
    EXPECT_TRUE(file);
    EXPECT_TRUE(co_await stream.write("head "));
    EXPECT_TRUE(co_await stream.send_file(*file));
    // The file waits for the high-water mark, and keeps its place between the two writes.
    auto bulk = [&]() -> Task<> { EXPECT_TRUE(co_await stream.write(content)); };
    auto again = [&]() -> Task<> { EXPECT_TRUE(co_await stream.send_file(*file)); };
    auto tail = [&]() -> Task<> { EXPECT_TRUE(co_await stream.write(" tail")); };
    co_await when_all(bulk(), again(), tail());
    stream.shutdown_send();
    EXPECT_TRUE(co_await stream.flush());
    EXPECT_EQ(co_await read_all(stream), "");
    EXPECT_FALSE(co_await stream.send_file(*file));
  };
  relay(serves, calls);
  std::remove(path.c_str());
  EXPECT_TRUE(heard == "head " + content + content + content + " tail") << heard.size();
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(PipeStreamsTest);

}  // namespace
}  // namespace peal
