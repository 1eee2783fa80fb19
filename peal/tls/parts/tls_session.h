// SPDX-License-Identifier: BSD-3-Clause
// TlsSession: one side of a TLS connection as a pure transformation of bytes. Encrypted bytes become plain bytes, and
// plain bytes become encrypted ones. A session uses no socket and no timer.
//
// OpenSSL reads from in() and writes to out() by a BIO on their blocks. Writing never waits for room, so OpenSSL can
// only ever wait for more input. OpenSSL is given whole records, one at a time. An incomplete record stays in the
// blocks of in(), which the memory budget counts (memory_budget.h). Otherwise OpenSSL would hold it in a buffer of its
// own of 16 KiB.
//
// May be used by one thread at a time. After a failure error() says why, and out() may hold a last alert.
#pragma once

#include <string_view>
#include <system_error>

#include <peal/base/layer_facts.h>
#include <peal/base/memory/buffer.h>
#include <peal/tls/parts/tls_side.h>

namespace peal::detail {

class TlsSession {
 public:
  // Most plain bytes of one record (RFC 8446 5.1).
  static constexpr size_t kMostRecordBytes = 16 * 1024;

  explicit TlsSession(uint32_t most_idle_bytes) : most_idle_bytes_(most_idle_bytes) {}
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Starts the session with `ssl`, which is set up for a server or a client and has no BIO yet. Must be called once,
  // and before any member except in(), out(), has_record() and has_hello().
  void begin(SslPtr ssl);
  bool begun() const { return ssl_ != nullptr; }

  // Encrypted bytes that have arrived and were not read yet. The caller appends to them.
  Buffer& in() { return in_; }
  const Buffer& in() const { return in_; }

  // Records that must be sent to the peer. The caller takes them.
  Buffer& out() { return out_; }

  // Continues the handshake as far as the input allows. Returns true when the handshake is done. Otherwise it needs
  // more input or, if error() is set, has failed.
  bool shake_hands();

  // Decrypts the input and appends the application data to `plain`. Afterwards peer_ended() or error() may be set, and
  // out() may hold answers, such as those to key updates (RFC 8446 4.6.3).
  void read(Buffer& plain);

  // Encrypts the beginning of `plain` into one record in out() and removes it from `plain`. Returns how many plain
  // bytes that were, which may be few, because a peer can ask for small records (RFC 6066 4). 0 if the session has
  // failed.
  size_t write(Buffer& plain);

  // Appends a close_notify alert to out(). Nothing can be written after it.
  void end();

  // Returns whether OpenSSL can process the beginning of the input: a whole record, or a record head that OpenSSL
  // refuses at once.
  bool has_record() { return whole_record_bytes() > 0; }

  // Returns whether the input holds a whole hello, as long as its head says, or a hello that OpenSSL refuses at once.
  // OpenSSL allocates that length as soon as it sees the head, and any peer may claim 128 KiB.
  bool has_hello() { return has_record() && in_.size() >= first_hello_bytes(); }

  // Returns whether read() can make progress with what has arrived.
  bool has_input() { return has_record() || SSL_has_pending(ssl_.get()) == 1; }

  // Moves at most `most` bytes of the current record to `into`, for the BIO. Returns how many; 0 if there is no whole
  // record.
  size_t take_input(char* into, size_t most);

  // Returns whether the peer's close_notify was read.
  bool peer_ended() const { return peer_ended_; }
  std::error_code error() const { return error_; }
  SSL* ssl() const { return ssl_.get(); }

  // Returns what was agreed on with the peer. May be called only after the handshake.
  LayerFacts facts() const;

 private:
  static constexpr size_t kRecordHeadBytes = 5;  // RFC 8446 5.1

  // Sets error() from OpenSSL's error queue.
  void fail();

  // Returns the size of the first record with its head. The input must hold the whole head.
  size_t first_record_bytes();

  // Returns the size of the first record with its head; 0 if the record is incomplete or missing.
  size_t whole_record_bytes() {
    if (in_.size() < kRecordHeadBytes) return 0;
    const size_t bytes = first_record_bytes();
    return bytes <= in_.size() ? bytes : 0;
  }

  // Returns how many bytes the hello takes with the heads of its records. 0 if the input is no hello, or if OpenSSL
  // will refuse it because of its head. More than in().size() if the head of the hello is incomplete.
  size_t first_hello_bytes();

  Buffer in_, out_;
  SslPtr ssl_;
  std::error_code error_;
  const uint32_t most_idle_bytes_;
  uint32_t idle_bytes_ = 0;   // Bytes received since the last application data.
  uint16_t record_left_ = 0;  // Bytes that OpenSSL has still to read of the current record.
  // Most plain bytes that OpenSSL puts into one record. Lowered when OpenSSL is seen to take fewer.
  uint16_t most_sealed_bytes_ = kMostRecordBytes;
  bool peer_ended_ = false;
};

}  // namespace peal::detail
