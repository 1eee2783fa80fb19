// SPDX-License-Identifier: BSD-3-Clause
// TlsPeer: a plain socket of the test's with TLS beside it, so that a test has both: what is said, and the bytes that
// say it. Nothing is sent or read but by its calls.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tests/support/raw_peer.h>
#include <tests/support/tls/tls_codec.h>

namespace peal::test {

class TlsPeer {
 public:
  explicit TlsPeer(const SocketAddress& address, const TlsCodec::SetUp& set_up = {}, int receive_buffer_bytes = 0)
      : raw(RawPeer::connected(address, receive_buffer_bytes)), codec(false, set_up) {
    codec.shake_hands();
  }

  // Sends what is to be said and reads what is there; true while the connection stands.
  bool pump() {
    flush();
    const bool stands = raw.pump();
    const std::string_view news = std::string_view(raw.received()).substr(heard_);
    heard_ = raw.received().size();
    if (!news.empty()) codec.hear(news);
    flush();
    return stands;
  }
  bool is_open() { return pump(), codec.ready(); }
  // What it has got so far was said in the clear.
  void begin_here() { heard_ = counted_ = raw.received().size(); }
  void send(std::string_view plain) {
    codec.say(plain);
    flush();
  }
  // The lengths of the records it has got since the last call, their headers (RFC 8446 5.1) included.
  std::vector<size_t> take_records() {
    constexpr size_t kHeaderBytes = 5;
    std::vector<size_t> records;
    const std::string& wire = raw.received();
    while (counted_ + kHeaderBytes <= wire.size()) {
      const size_t bytes = static_cast<uint8_t>(wire[counted_ + 3]) << 8 | static_cast<uint8_t>(wire[counted_ + 4]);
      records.push_back(kHeaderBytes + bytes);
      counted_ += records.back();
    }
    return records;
  }

  RawPeer raw;
  TlsCodec codec;

 private:
  void flush() {
    unsent_ += codec.take_wire();
    unsent_.erase(0, raw.try_send(unsent_));
  }

  std::string unsent_;
  size_t heard_ = 0;
  size_t counted_ = 0;
};

}  // namespace peal::test
