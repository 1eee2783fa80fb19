// SPDX-License-Identifier: BSD-3-Clause
// DuplexTest: a fixture in which two sides send much data at the same time and read meanwhile, through small socket
// buffers. Suites add the protocol between the two sides. They run on every engine, plain and over TLS. If a test
// hangs, the failure prints how much both sides have sent and received.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <peal/net/client.h>
#include <peal/net/server.h>
#include <tests/support/sanitized.h>
#include <tests/support/stepped_loop.h>

namespace peal::test {

// Makes the bytes that one side sends, and checks the bytes that this side receives. The two sides send different bytes
// at each position, so that a test notices bytes that have reached the wrong side.
class DuplexTalk {
 public:
  static constexpr size_t kPeriod = 65'521;  // a prime
  static constexpr size_t kPieceBytes = 16 * 1024;

  DuplexTalk(std::string its_name, unsigned number, uint64_t bytes)
      : name(std::move(its_name)), number_(number), total(bytes) {}

  bool all_sent() const { return sent == total; }
  bool all_heard() const { return heard == total; }
  bool done() const { return all_sent() && all_heard(); }
  // Returns the next bytes to send (at most `most` bytes), and adds their number to `sent`.
  std::string_view next(size_t most = kPieceBytes) {
    const std::string_view piece = at(number_, sent, std::min<uint64_t>(most, total - sent));
    sent += piece.size();
    return piece;
  }
  // Checks that `bytes` are the next bytes of the stream that side number `of_number` sends. The function hear(bytes)
  // checks for the stream of the peer. hear_own(bytes) checks for the stream of this side itself, because a peer that
  // echoes sends this stream back.
  void hear(std::string_view bytes, unsigned of_number) {
    while (!bytes.empty() && wrong_at == kNowhere) {
      const std::string_view wanted = at(of_number, heard, bytes.size());
      if (bytes.substr(0, wanted.size()) != wanted || heard + wanted.size() > total) wrong_at = heard;
      heard += wanted.size();
      bytes.remove_prefix(wanted.size());
    }
  }
  void hear(std::string_view bytes) { hear(bytes, 1 - number_); }
  void hear_own(std::string_view bytes) { hear(bytes, number_); }
  std::string report() const {
    std::string text = fmt::format("\n  {}: sent {} and heard {} of {}", name, sent, heard, total);
    if (wrong_at != kNowhere) text += fmt::format(", wrong from {} on", wrong_at);
    return text + ended;
  }

  static constexpr uint64_t kNowhere = UINT64_MAX;
  const std::string name;
  const unsigned number_;
  const uint64_t total;
  uint64_t sent = 0;
  uint64_t heard = 0;
  uint64_t wrong_at = kNowhere;
  std::string ended;  // how the connection has ended, or ""

 private:
  static std::string_view at(unsigned number, uint64_t position, uint64_t size) {
    static const std::string bytes = [] {
      std::string once;
      for (size_t i = 0; i < kPeriod; ++i) once += static_cast<char>((i * 2'654'435'761U) >> 13);
      return once + once;
    }();
    const size_t place = (position + number * 7'919) % kPeriod;
    return std::string_view(bytes).substr(place, std::min<uint64_t>(size, kPeriod));
  }
};

class DuplexTest : public SteppedLoopTest {
 protected:
  static constexpr uint64_t kBytes = (kSanitized ? 8 : 32) * uint64_t{1024} * 1024;
  static constexpr Duration kPatience = std::chrono::seconds(60);  // measured on the loop's clock
  static constexpr int kSocketBytes = 64 * 1024;

  static SocketOptions small() { return {.send_buffer_bytes = kSocketBytes, .receive_buffer_bytes = kSocketBytes}; }
  static ServerOptions server_options() { return {.listen = {.socket = small()}}; }
  static ClientOptions client_options() { return {.connect = {.socket = small()}}; }

  // pump() sends until the connection takes no more bytes. talking() returns callbacks that send with pump() and check
  // every received byte.
  static void pump(Connection& connection, DuplexTalk& talk) {
    while (!talk.all_sent() && connection.can_send()) {
      if (!connection.send(talk.next())) return;
    }
  }
  static SharedConnectionCallbacks talking(DuplexTalk& talk) {
    SharedConnectionCallbacks callbacks;
    callbacks.on_open = [&talk](Connection& connection) { pump(connection, talk); };
    callbacks.on_writable = [&talk](Connection& connection) { pump(connection, talk); };
    callbacks.on_message = [&talk](Connection&, Buffer& input) {
      talk.hear(input.view());
      input.clear();
    };
    callbacks.on_close = [&talk](Connection&, CloseReason reason) {
      talk.ended = fmt::format(", ended: {}", to_string(reason));
    };
    return callbacks;
  }
  void expect_both(DuplexTalk& here, DuplexTalk& there) {
    const auto done = [&] {
      return (here.done() && there.done()) || here.wrong_at != DuplexTalk::kNowhere ||
             there.wrong_at != DuplexTalk::kNowhere;
    };
    EXPECT_TRUE(run_until(done, kPatience)) << here.report() << there.report();
    EXPECT_EQ(here.wrong_at, DuplexTalk::kNowhere) << here.report();
    EXPECT_EQ(there.wrong_at, DuplexTalk::kNowhere) << there.report();
  }

  DuplexTalk server_talk{"server", 0, kBytes};
  DuplexTalk client_talk{"client", 1, kBytes};
};

// Runs all tests of `Suite` on every engine (epoll, io_uring and others) and on the simulator, and then again over TLS.
// The runs over TLS leave out poll and select, unless PEAL_ALL_ENGINES is set (tested_engines.h).
#define PEAL_TEST_DUPLEX(Suite)                              \
  PEAL_TEST_ON(engine, Suite, ::peal::test::every_engine()); \
  PEAL_TEST_ON(tls, Suite, ::peal::test::over_tls(::peal::test::every_engine()))

}  // namespace peal::test
