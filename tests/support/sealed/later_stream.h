// SPDX-License-Identifier: BSD-3-Clause
// LaterStreamTest: a fixture with a coroutine server. Its streams begin without a layer and may start the sealing layer
// later. The peers are raw sockets. The server's coroutines write what happens into the journal.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/coro/when.h>
#include <tests/support/engines/co_server_rig.h>
#include <tests/support/sealed/sealed_peer.h>

namespace peal::test {

class LaterStreamTest : public CoServerTest {
 protected:
  static constexpr Duration kNotInThisTest = std::chrono::hours(1);
  static constexpr size_t kMuch = 9'000'000;  // more than the kernel takes while the peer does not read

  void serve_later(CoServer::Serve serve, ConnectionOptions connection = {.handshake_timeout = kNotInThisTest}) {
    connection.layer = &layer;
    connection.layer_later = true;
    ServerOptions options;
    options.connection = connection;
    bound_ = serve_tasks(std::move(serve), options);
  }
  RawPeer connect_peer(int receive_buffer_bytes = 0) { return RawPeer::connected(bound_, receive_buffer_bytes); }
  // Waits until the journal contains `line`. Lines that news() has already returned do not count.
  testing::AssertionResult noted(const std::string& line) {
    return wait_until([this, line] {
      const std::vector<std::string> lines = journal.lines();
      return std::ranges::count(lines.begin() + static_cast<ptrdiff_t>(told_lines_), lines.end(), line) > 0;
    });
  }
  testing::AssertionResult hears(RawPeer& peer, std::string_view text) {
    return wait_until([&peer, text] {
      peer.pump();
      return peer.received() == text;
    });
  }
  testing::AssertionResult hears_sealed(SealedPeer& peer, std::string_view text) {
    return wait_until([&peer, text] {
      std::string all;
      for (const std::string& record : peer.records()) all += record;
      return all == text;
    });
  }
  // Returns the lines that were added to the journal since the last call.
  std::vector<std::string> news() {
    std::vector<std::string> lines = journal.lines();
    const size_t before = std::exchange(told_lines_, lines.size());
    lines.erase(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(before));
    return lines;
  }
  void end_server() { server_.reset(); }
  CoServer& server() { return *server_; }
  // Reads a line, answers "go" and starts the sealing layer. All later bytes go through the layer.
  Task<Result<void>> start(Stream& stream) {
    journal.add(told(co_await stream.read_until("\n")));
    auto written = co_await stream.write("go\n");
    if (!written) co_return written;
    co_return co_await stream.start_layer();
  }
  // Each of note_read(), note_write() and note_flush() does one operation on the stream and adds the outcome to the
  // journal. Most tests run them while another coroutine starts the sealing layer.
  Task<> note_read(Stream& stream) { journal.add("read " + told(co_await stream.read())); }
  Task<> note_write(Stream& stream, std::string text) { journal.add("write " + told(co_await stream.write(text))); }
  Task<> note_flush(Stream& stream) { journal.add("flush " + told(co_await stream.flush())); }
  Task<> waits(Stream stream, bool output_waits) {
    const std::string much(kMuch, 'x');
    auto clear = [&]() -> Task<> {
      if (output_waits) co_await stream.write(much);
    };
    auto starts = [&]() -> Task<> { return note_start(stream); };
    auto writes = [&]() -> Task<> { return note_write(stream, "waits"); };
    auto flushes = [&]() -> Task<> { return note_flush(stream); };
    journal.add("waiting");
    co_await when_all(clear(), starts(), writes(), flushes());
    journal.add("over");
  }
  Task<> note_start(Stream& stream) { journal.add("start " + told(co_await stream.start_layer())); }

  const SealedLayer layer;

 private:
  size_t told_lines_ = 0;
  SocketAddress bound_;
};

inline const std::string kGoAndHello = "go\n" + std::string(kSealHello);

}  // namespace peal::test
