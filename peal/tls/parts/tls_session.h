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
  // The largest number of plain bytes of one record (RFC 8446 5.1).
  static constexpr size_t kMostRecordBytes = 16 * 1024;

  explicit TlsSession(uint32_t most_idle_bytes) : most_idle_bytes_(most_idle_bytes) {}
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Starts the session with `ssl`, which is set up for a server or a client and has no BIO yet. Must be called once.
  // Before this call, only in(), out(), has_record(), has_hello(), begun(), peer_ended() and error() may be used.
  void begin(SslPtr ssl);
  bool begun() const { return ssl_ != nullptr; }

  // Encrypted bytes that have arrived and that OpenSSL has not read yet. The caller appends the bytes that arrive.
  Buffer& in() { return in_; }
  const Buffer& in() const { return in_; }

  // Records to be sent to the peer. The caller takes them out of the buffer and sends them.
  Buffer& out() { return out_; }

  // Continues the handshake as far as the input allows. Returns true when the handshake is done. If the result is
  // false, either error() is set and the handshake has failed, or the handshake needs more input.
  bool shake_hands();

  // Decrypts the input and appends the application data to `plain`. After the call, peer_ended() or error() may be set.
  // out() may hold answers to what the peer sent, for example to key updates (RFC 8446 4.6.3).
  void read(Buffer& plain);

  // Encrypts the beginning of `plain` into one record in out() and removes it from `plain`. Returns the number of plain
  // bytes that were encrypted. The number may be small, because a peer can ask for small records (RFC 6066 4). Returns
  // 0 if the session has failed.
  size_t write(Buffer& plain);

  // Appends a close_notify alert to out(). After that, nothing more can be written.
  void end();

  // Returns whether the input begins with bytes that OpenSSL can process: a whole record, or a record head that OpenSSL
  // refuses at once.
  bool has_record() { return whole_record_bytes() > 0; }

  // Returns whether the input holds a whole hello, as long as its head says, or a hello that OpenSSL refuses at once.
  // OpenSSL allocates memory for the whole hello as soon as it has read the head, and any peer may claim a length of
  // 128 KiB.
  bool has_hello() { return has_record() && in_.size() >= first_hello_bytes(); }

  // Returns whether read() can make progress with what has arrived.
  bool has_input() { return has_record() || SSL_has_pending(ssl_.get()) == 1; }

  // Called by the BIO when OpenSSL reads. Moves at most `most` bytes of the current record from in() to `into`. Returns
  // the number of bytes moved. Returns 0 if in() holds no whole record.
  size_t take_input(char* into, size_t most);

  // Returns whether the peer's close_notify was read.
  bool peer_ended() const { return peer_ended_; }
  std::error_code error() const { return error_; }
  SSL* ssl() const { return ssl_.get(); }

  // Returns what was agreed on with the peer. May be called only after the handshake.
  LayerFacts facts() const;

 private:
  static constexpr size_t kRecordHeadBytes = 5;  // RFC 8446 5.1

  // Sets error() from OpenSSL's error queue, unless error() is set already.
  void fail();

  // Returns the size of the first record, including its head. The input must hold the whole head.
  size_t first_record_bytes();

  // Returns the size of the first record, including its head. Returns 0 if the input is empty or the record is
  // incomplete.
  size_t whole_record_bytes() {
    if (in_.size() < kRecordHeadBytes) return 0;
    const size_t bytes = first_record_bytes();
    return bytes <= in_.size() ? bytes : 0;
  }

  // Returns how many bytes of the input the hello takes, including the heads of its records. Returns 0 if the input is
  // no hello, or if OpenSSL will refuse the hello because of its head. Returns more than in().size() if the head of the
  // hello is incomplete.
  size_t first_hello_bytes();

  Buffer in_, out_;
  SslPtr ssl_;
  std::error_code error_;
  const uint32_t most_idle_bytes_;
  uint32_t idle_bytes_ = 0;   // Bytes received since the last application data.
  uint16_t record_left_ = 0;  // Bytes that OpenSSL has still to read of the current record.
  // The largest number of plain bytes that write() offers OpenSSL for one record. write() lowers the number when
  // OpenSSL takes fewer bytes.
  uint16_t most_sealed_bytes_ = kMostRecordBytes;
  bool peer_ended_ = false;
};

}  // namespace peal::detail
