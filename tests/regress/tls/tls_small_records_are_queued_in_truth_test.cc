// SPDX-License-Identifier: BSD-3-Clause
// A TLS client may ask for small records (max_fragment_length, RFC 6066 4). OpenSSL then seals 512 bytes of the 16 KiB
// that it is offered. But all 16 KiB were counted as sealed: while 4.7 MB were waiting, queued_bytes() returned 1. So
// min_write_bytes did not cut off a client that read nothing, and a drain reported that nothing was lost.
#include <algorithm>
#include <optional>

#include <openssl/ssl.h>

#include <tests/support/file_of.h>
#include <tests/support/net_rig.h>
#include <tests/support/tls/tls_layers.h>
#include <tests/support/tls/tls_peer.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::TlsPeer;

constexpr size_t kAnswerBytes = 4'700'000;
constexpr int kBufferBytes = 16 * 1024;
// More than both kernels can hold of the answer.
constexpr size_t kMostInKernels = 1'000'000;

class TlsSmallRecords : public test::NetTest {
 protected:
  void TearDown() override {
    peer_.reset();
    test::NetTest::TearDown();
  }
  std::unique_ptr<Server> answering(std::function<void(Connection&)> answer, ConnectionOptions options = {}) {
    options.layer = &test::tls_server();
    options.handshake_timeout = std::chrono::hours(1);
    return serve({.on_message =
                      [this, answer = std::move(answer)](Connection& connection, Buffer& input) {
                        input.clear();
                        connection_ = &connection;
                        answer(connection);
                      },
                  .on_close =
                      [this](Connection&, CloseReason reason) {
                        connection_ = nullptr;
                        reason_ = reason;
                      }},
                 {.listen = {.socket = {.send_buffer_bytes = kBufferBytes}}, .connection = options});
  }
  void ask_for_it() {
    const auto small = [](SSL* ssl) { SSL_set_tlsext_max_fragment_length(ssl, TLSEXT_max_fragment_length_512); };
    peer_.emplace(address(), small, kBufferBytes);
    ASSERT_TRUE(wait_until([this] { return peer_->is_open(); }));
    peer_->send("?");
    ASSERT_TRUE(wait_until([this] { return connection_ != nullptr; }));
  }
  // Expects that the whole answer arrives, and that queued_bytes() only shrinks, down to 0.
  void hear(const std::string& answer) {
    size_t queued = kAnswerBytes;
    bool shrinks = true;
    ASSERT_TRUE(wait_until([&] {
      peer_->pump();
      const size_t now = connection_ == nullptr ? 0 : connection_->queued_bytes();
      shrinks = shrinks && now <= queued;
      queued = now;
      return peer_->codec.plain().size() >= answer.size();
    }));
    EXPECT_TRUE(shrinks);
    EXPECT_TRUE(same_bytes(peer_->codec.plain(), answer));
    EXPECT_TRUE(wait_until([&] { return connection_ != nullptr && connection_->queued_bytes() == 0; }));
    EXPECT_LE(std::ranges::max(peer_->take_records()), 2048u) << "the record with the certificates is the longest";
  }

  std::optional<TlsPeer> peer_;
  Connection* connection_ = nullptr;
  std::optional<CloseReason> reason_;
};

TEST_P(TlsSmallRecords, all_waiting_bytes_are_counted) {
  const std::string answer = pattern(kAnswerBytes);
  auto server = answering([&](Connection& connection) { connection.send(answer); });
  ask_for_it();
  for (int i = 0; i < 20; ++i) ask([] {});
  EXPECT_GT(ask([&] { return connection_->queued_bytes(); }), kAnswerBytes - kMostInKernels);
  hear(answer);
}

TEST_P(TlsSmallRecords, all_waiting_bytes_of_a_file_are_counted) {
  const std::string answer = pattern(kAnswerBytes);
  const FileRange file = test::file_of(answer);
  auto server = answering([&](Connection& connection) { connection.send_file(file); });
  ask_for_it();
  for (int i = 0; i < 20; ++i) ask([] {});
  EXPECT_GT(ask([&] { return connection_->queued_bytes(); }), kAnswerBytes - kMostInKernels);
  hear(answer);
}

// This test measures no time: a client that does not read is cut off, however late.
TEST_P(TlsSmallRecords, client_that_reads_nothing_is_cut_off) {
  auto server = answering([](Connection& connection) { connection.send(pattern(kAnswerBytes)); },
                          {.min_write_bytes = 1, .write_window = milliseconds(50)});
  ask_for_it();
  ASSERT_TRUE(wait_until([this] { return reason_.has_value(); }));
  EXPECT_EQ(reason_, CloseReason::kNeitherRead);  // this side has stopped reading too, because its output is full
}

TEST_P(TlsSmallRecords, bytes_that_a_drain_loses_are_reported) {
  auto server = answering([](Connection& connection) { connection.send(pattern(kAnswerBytes)); });
  ask_for_it();
  std::optional<DrainReport> report;
  ask([&] { server->drain(milliseconds(1), [&](const DrainReport& told) { report = told; }); });
  ASSERT_TRUE(wait_until([&] { return report.has_value(); }));
  EXPECT_GT(report->lost_bytes, kAnswerBytes - kMostInKernels);
}

PEAL_TEST_ON_EVERY_ENGINE(TlsSmallRecords);

}  // namespace
}  // namespace peal
