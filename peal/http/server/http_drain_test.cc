// SPDX-License-Identifier: BSD-3-Clause
// Tests a server that drains while pipelined requests wait for an answer that the client has not read yet (RFC 9112
// 9.6).
#include <sys/mman.h>
#include <unistd.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

constexpr uint64_t kLargeBytes = 32 * 1024 * 1024;  // more than the kernel buffers
constexpr Duration kPatientDrain = std::chrono::seconds(20);
constexpr std::string_view kGetLarge = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kGetSmall = "GET /small HTTP/1.1\r\nHost: a\r\n\r\n";

class HttpDrainTest : public test::HttpTest {
 protected:
  void serve_large(Duration grace) {
    auto file = std::make_shared<Fd>(::memfd_create("large", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(file->get(), kLargeBytes), 0);
    Router router;
    router.get("/large", [this, file = std::shared_ptr<const Fd>(std::move(file))](HttpExchange& exchange) {
      ++large_;
      exchange.respond_file(200, "", {.file = file, .offset = 0, .bytes = kLargeBytes});
    });
    router.get("/small", [](HttpExchange& exchange) { exchange.respond(200, "", "small"); });
    serve(std::move(router), {.drain_grace = grace});
  }
  // Returns a client that has sent `requests` and has read nothing; the first answer is in progress.
  RawPeer asker(std::string_view requests) {
    RawPeer one = peer_sending(requests, 16 * 1024);
    EXPECT_TRUE(wait_until([&] { return large_ == 1; }));
    return one;
  }
  // Begins a drain, and waits until the connections know of it: then an idle one is closed.
  void begin_drain() {
    RawPeer idle = peer_sending(kGetSmall);
    EXPECT_TRUE(hears(idle, "small"));
    server().drain(kPatientDrain, [this](const DrainReport& done) { report_.set_value(done); });
    EXPECT_TRUE(ends(idle));
    idle.close();
  }
  // Returns the report of the drain. The server is destroyed afterwards.
  DrainReport report() {
    const DrainReport done = report_.get_future().get();
    report_ = {};
    large_ = 0;
    end_server();
    return done;
  }
  // Returns the bytes received after the file.
  std::string behind(RawPeer& one) {
    EXPECT_TRUE(ends(one));
    const size_t head = one.received().find("\r\n\r\n") + 4;
    EXPECT_FALSE(one.received().substr(0, head).contains("Connection: close"));
    EXPECT_GE(one.received().size(), head + kLargeBytes);
    const std::string rest = one.received().substr(std::min(one.received().size(), head + kLargeBytes));
    one.close();
    return rest;
  }

 private:
  int large_ = 0;  // used on the loop's thread
  std::promise<DrainReport> report_;
};

TEST_P(HttpDrainTest, a_request_behind_a_large_file_is_answered_as_the_last_one) {
  for (const Duration grace : {Duration::zero(), Duration(std::chrono::milliseconds(1))}) {
    serve_large(grace);
    RawPeer one = asker(std::string(kGetLarge) + std::string(kGetSmall) + std::string(kGetSmall));
    begin_drain();
    const std::string rest = behind(one);
    EXPECT_EQ(test::count_of(rest, "HTTP/1.1 200 "), 1u) << "the client knows that the third was not looked at";
    EXPECT_EQ(test::count_of(rest, "Connection: close\r\n"), 1u);
    EXPECT_TRUE(rest.ends_with("\r\n\r\nsmall"));
    EXPECT_EQ(report().forced, 0u);
  }
}

TEST_P(HttpDrainTest, a_large_file_with_nothing_behind_it_arrives_whole) {
  for (const Duration grace : {Duration::zero(), Duration(std::chrono::milliseconds(1))}) {
    serve_large(grace);
    RawPeer one = asker(kGetLarge);
    begin_drain();
    EXPECT_EQ(behind(one), "");
    EXPECT_EQ(report().forced, 0u);
  }
}

PEAL_TEST_ON_EVERY_PORT(HttpDrainTest);

}  // namespace
}  // namespace peal
