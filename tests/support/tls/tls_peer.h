// SPDX-License-Identifier: BSD-3-Clause
// TlsPeer: a raw socket, and a TlsCodec that does TLS on its bytes. A test sees both the plain text and the encrypted
// bytes. Bytes are sent and read only inside the functions of this class.
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

  // Sends the bytes that wait to be sent, and reads the bytes that have arrived. Returns true while the connection is
  // open.
  bool pump() {
    flush();
    const bool stands = raw.pump();
    const std::string_view news = std::string_view(raw.received()).substr(heard_);
    heard_ = raw.received().size();
    if (!news.empty()) codec.hear(news);
    flush();
    return stands;
  }
  bool is_open() {
    pump();
    return codec.ready();
  }
  // Makes TLS begin with the next byte. All bytes received so far were not encrypted.
  void begin_here() { heard_ = counted_ = raw.received().size(); }
  void send(std::string_view plain) {
    codec.say(plain);
    flush();
  }
  // Returns the lengths of the TLS records whose headers have arrived since the last call. Each length includes the
  // header (RFC 8446 5.1). The last record may still be incomplete.
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
