// SPDX-License-Identifier: BSD-3-Clause
// TlsSession: one side of a TLS connection as a function of bytes: cipher bytes in, plain bytes out, and the reverse.
// It knows no socket and no clock. OpenSSL reads and writes by a BIO on the blocks that bytes travel in; it never waits
// for room, so all it can want is more input.
//
// One thread. After a failure error() tells why, and out() may hold a last alert.
#pragma once

#include <string_view>
#include <system_error>

#include <peal/base/layer_facts.h>
#include <peal/base/memory/buffer.h>
#include <peal/tls/parts/tls_side.h>

namespace peal::detail {

class TlsSession {
 public:
  // The most plain bytes of a record (RFC 8446 5.1).
  static constexpr size_t kMostRecordBytes = 16 * 1024;

  explicit TlsSession(uint32_t most_idle_bytes) : most_idle_bytes_(most_idle_bytes) {}
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Once, before all that needs more than the buffers. `ssl` knows its side, and has no BIO yet.
  void begin(SslPtr ssl);
  bool begun() const { return ssl_ != nullptr; }

  // Cipher bytes that have arrived.
  Buffer& in() { return in_; }
  // Records to be sent.
  Buffer& out() { return out_; }

  // Goes on with the handshake as far as the input leads. True once it is done; else it wants input or has failed.
  bool shake_hands();
  // Appends what the input holds for the user. It may end, fail, and cause output (RFC 8446 4.6.3).
  void read(Buffer& plain);
  // Seals a record of what `plain` begins with, takes that from it and returns how much it was: a peer may ask for
  // small ones (RFC 6066 4). 0: the session has failed.
  size_t write(Buffer& plain);
  // Our close_notify: nothing can be written after it.
  void end();
  // Something that was received is not read yet, were it half a record.
  bool has_input() const { return !in_.empty() || SSL_has_pending(ssl_.get()) == 1; }

  // The peer's close_notify was read.
  bool peer_ended() const { return peer_ended_; }
  std::error_code error() const { return error_; }
  SSL* ssl() const { return ssl_.get(); }
  LayerFacts facts() const;

 private:
  void fail();

  Buffer in_, out_;
  SslPtr ssl_;
  std::error_code error_;
  const uint32_t most_idle_bytes_;
  uint32_t idle_bytes_ = 0;                        // received in a row, and none of it for the user
  uint16_t most_sealed_bytes_ = kMostRecordBytes;  // by one record, as far as is known
  bool peer_ended_ = false;
};

}  // namespace peal::detail
