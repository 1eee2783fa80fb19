// SPDX-License-Identifier: BSD-3-Clause
// TlsSession: one side of a TLS connection as a function of bytes: cipher bytes in, plain bytes out, and the reverse.
// It knows no socket and no clock. OpenSSL reads and writes by a BIO on the blocks that bytes travel in; it never waits
// for room, so all it can want is more input. It is given whole records, one at a time: half a record stays in the
// blocks, which are counted (memory_budget.h); 16 KiB of OpenSSL's own would hold it otherwise.
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
  const Buffer& in() const { return in_; }
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
  // The input begins with a whole record, or with what no record begins with: a step can be made of it.
  bool has_record() { return whole_record_bytes() > 0; }
  // The same for what a session begins with: as much has arrived as its hello says it has. OpenSSL takes memory for so
  // much at once, and anybody may say 128 KiB.
  bool has_hello() { return has_record() && in_.size() >= first_hello_bytes(); }
  // Something that was received can be read.
  bool has_input() { return has_record() || SSL_has_pending(ssl_.get()) == 1; }
  // For the BIO: copies what OpenSSL may read now. 0: half a record is there at most.
  size_t take_input(char* into, size_t most);

  // The peer's close_notify was read.
  bool peer_ended() const { return peer_ended_; }
  std::error_code error() const { return error_; }
  SSL* ssl() const { return ssl_.get(); }
  LayerFacts facts() const;

 private:
  static constexpr size_t kRecordHeadBytes = 5;  // RFC 8446 5.1

  void fail();
  size_t first_record_bytes();
  // 0: it is half, or there is none.
  size_t whole_record_bytes() {
    if (in_.size() < kRecordHeadBytes) return 0;
    const size_t bytes = first_record_bytes();
    return bytes <= in_.size() ? bytes : 0;
  }
  size_t first_hello_bytes();

  Buffer in_, out_;
  SslPtr ssl_;
  std::error_code error_;
  const uint32_t most_idle_bytes_;
  uint32_t idle_bytes_ = 0;                        // received in a row, and none of it for the user
  uint16_t record_left_ = 0;                       // of the record that OpenSSL reads
  uint16_t most_sealed_bytes_ = kMostRecordBytes;  // by one record, as far as is known
  bool peer_ended_ = false;
};

}  // namespace peal::detail
