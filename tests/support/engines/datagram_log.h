// SPDX-License-Identifier: BSD-3-Clause
// DatagramLog: a datagram socket of the tested engine. It records what the engine reports about the socket.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <tests/support/engine_rig.h>

namespace peal {

class DatagramLog final : public DatagramEvents {
 public:
  struct Datagram {
    SocketAddress from;
    std::string bytes;
  };

  DatagramLog(Engine& engine, const SocketAddress& local, const DatagramOptions& options = {}) {
    auto opened = engine.open_datagrams(local, options, *this);
    EXPECT_TRUE(opened.has_value()) << local.to_string() << ": " << opened.error().message();
    socket_ = opened.value_or(nullptr);
    if (opened) address = socket_->local_address().value();
  }
  Datagrams& socket() { return *socket_; }
  Result<void> send(const SocketAddress& to, std::string_view bytes) { return socket_->send(to, bytes); }
  void close() {
    said_goodbye_ = true;
    socket_->close();
  }

  SocketAddress address;
  std::vector<Datagram> received;
  uint64_t dropped = 0;  // datagrams that the kernel has dropped
  std::vector<std::error_code> errors;
  int closed = 0;
  std::function<void()> when_received, when_dropped;

 private:
  void on_datagram(const SocketAddress& from, Buffer& bytes) override {
    EXPECT_FALSE(said_goodbye_);
    received.push_back({from, bytes.to_string()});
    if (when_received) when_received();
  }
  void on_datagrams_dropped(uint64_t count) override {
    EXPECT_FALSE(said_goodbye_);
    EXPECT_GT(count, 0U);
    dropped += count;
    if (when_dropped) when_dropped();
  }
  void on_datagram_error(std::error_code error) override {
    EXPECT_FALSE(said_goodbye_);
    errors.push_back(error);
  }
  void on_datagrams_closed() override { ++closed; }

  Datagrams* socket_ = nullptr;
  bool said_goodbye_ = false;
};

class DatagramTest : public EngineTest {
 protected:
  // Closes the socket and checks that on_datagrams_closed() is called exactly once. The engine must have called
  // on_datagrams_closed() before the DatagramLog is destroyed. A test must therefore call close() for each DatagramLog
  // before the rig is destroyed. The call is not needed after rig().shut(), because shut() also closes the socket.
  void close(DatagramLog& log) {
    log.close();
    EXPECT_EQ(log.closed, 0) << "the end was reported inside the call of close()";
    EXPECT_TRUE(rig().run_until([&] { return log.closed > 0; }));
    EXPECT_EQ(log.closed, 1);
  }
};

}  // namespace peal
