// SPDX-License-Identifier: BSD-3-Clause
// SimTlsPeer: a client in a simulated world that speaks TLS by OpenSSL alone, and sends what that makes of its words at
// whatever speed the test wants: whole, in drips, or half.
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
  // With `talks` it shakes hands by itself, else its hello waits in unsent.
  SimTlsPeer(SimPair& pair, const SocketAddress& address, bool talks = true, const TlsCodec::SetUp& set_up = {})
      : codec(false, set_up), pair_(pair), talks_(talks), client_(*pair.there, callbacks()) {
    codec.shake_hands();
    take_wire();
    EXPECT_TRUE(client_.connect(address));
  }

  bool is_open() {
    return pair_.run_until([this] { return codec.ready() || closed; }) && codec.ready();
  }
  // What it says from now on is sent by send() and drip() alone.
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
  // So many bytes each tenth of a second, until nothing is left or the connection has ended.
  void drip(size_t bytes) {
    while (!unsent.empty() && !closed) {
      send(bytes);
      pair_.run_for(std::chrono::milliseconds(100));
    }
  }

  TlsCodec codec;
  std::string unsent;  // of the wire
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
