// SPDX-License-Identifier: BSD-3-Clause
// SimTlsPeer: a client in a simulated network whose TLS is OpenSSL alone, without peal's layer. The test decides how
// fast its encrypted bytes are sent: all together, in small pieces, or only some of them.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <peal/net/client.h>
#include <tests/support/sim_rig.h>
#include <tests/support/tls/tls_codec.h>

namespace peal::test {

class SimTlsPeer {
 public:
  // If `talks` is true, the peer sends its encrypted bytes when it is connected, and later whenever bytes arrive.
  // Otherwise its encrypted bytes wait until the test calls send() or drip().
  SimTlsPeer(SimPair& pair, const SocketAddress& address, bool talks = true, const TlsCodec::SetUp& set_up = {})
      : codec(false, set_up), pair_(pair), talks_(talks), client_(*pair.there, callbacks()) {
    codec.shake_hands();
    take_wire();
    EXPECT_TRUE(client_.connect(address));
  }

  bool is_open() {
    return pair_.run_until([this] { return codec.ready() || closed; }) && codec.ready();
  }
  // From now on, the peer sends nothing by itself. Only send() and drip() send bytes.
  void holds_back() { talks_ = false; }
  void say(std::string_view plain) {
    codec.say(plain);
    take_wire();
  }
  void take_wire() { unsent += codec.take_wire(); }
  void send(size_t bytes) {
    handle_.send(std::string_view(unsent).substr(0, bytes));
    unsent.erase(0, bytes);
  }
  // Sends at most `bytes` bytes every 0.1 s of simulated time, until `unsent` is empty or the connection has ended.
  void drip(size_t bytes) {
    while (!unsent.empty() && !closed) {
      send(bytes);
      pair_.run_for(std::chrono::milliseconds(100));
    }
  }

  TlsCodec codec;
  std::string unsent;  // encrypted bytes that are not sent yet
  bool closed = false;

 private:
  ConnectionCallbacks callbacks() {
    return {.on_open =
                [this](Connection& connection) {
                  handle_ = connection.handle();
                  go_on();
                },
            .on_message =
                [this](Connection&, Buffer& input) {
                  codec.hear(input.view());
                  input.clear();
                  take_wire();
                  go_on();
                },
            .on_close = [this](Connection&, CloseReason) { closed = true; }};
  }
  void go_on() {
    if (talks_ && !unsent.empty()) send(unsent.size());
  }

  SimPair& pair_;
  bool talks_;
  ConnectionHandle handle_;
  Client client_;
};

}  // namespace peal::test
