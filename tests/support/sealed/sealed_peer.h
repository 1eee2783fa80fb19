// SPDX-License-Identifier: BSD-3-Clause
// SealedPeer: a RawPeer whose bytes are sealed and unsealed here. So a test can see each record, and where the layer
// begins. OverLayerTest: a fixture with servers for such peers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tests/support/net_rig.h>
#include <tests/support/sealed/sealing.h>

namespace peal::test {

struct SealedPeer {
  // Sends the handshake of the sealing layer. The other side has sent the first `bytes_before` bytes of the connection
  // without the layer. records() skips these bytes.
  explicit SealedPeer(RawPeer connected, size_t bytes_before = 0)
      : raw(std::move(connected)), clear_bytes(bytes_before) {
    raw.send(kSealHello);
  }
  void send(std::string_view bytes) { raw.send(sealed_text(bytes)); }
  // Reads what has arrived. Returns the content of each record received so far. An empty content is the end mark: after
  // it, the server sends only FIN.
  std::vector<std::string> records() {
    raw.pump();
    std::vector<std::string> found;
    std::string_view left = std::string_view(raw.received()).substr(clear_bytes);
    if (left.starts_with(kSealHello)) left.remove_prefix(kSealHello.size());
    while (left.size() >= 4) {
      size_t size = 0;
      for (size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<uint8_t>(left[i]);
      if (left.size() - 4 < size) break;
      std::string record(left.substr(4, size));
      for (char& byte : record) byte = static_cast<char>(~byte);
      found.push_back(std::move(record));
      left.remove_prefix(4 + size);
    }
    return found;
  }
  bool ended() {
    raw.pump();
    return raw.ended();
  }

  RawPeer raw;
  size_t clear_bytes;  // bytes received before the layer began
};

class OverLayerTest : public NetTest {
 protected:
  void TearDown() override {
    handle = {};
    NetTest::TearDown();
  }
  std::unique_ptr<Server> serve_over_layer(ConnectionCallbacks callbacks, ServerOptions options = {}) {
    options.connection.layer = &layer;
    return serve(std::move(callbacks), options);
  }
  // Makes a server whose connections begin without the sealing layer and may start it later.
  std::unique_ptr<Server> serve_later(ConnectionCallbacks callbacks, const ServerOptions& options = {}) {
    return serve(std::move(callbacks), starting_later(layer, options));
  }
  SealedPeer peer() { return SealedPeer(connect_peer()); }
  // Waits until a callback of the test has set `handle`.
  testing::AssertionResult opened() {
    return wait_until([this] { return static_cast<bool>(handle); });
  }

  const SealedLayer layer;
  ConnectionHandle handle;  // used on the loop's thread; the test may use it after opened()
};

}  // namespace peal::test
