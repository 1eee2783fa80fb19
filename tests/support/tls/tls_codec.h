// SPDX-License-Identifier: BSD-3-Clause
// TlsCodec: one side of TLS that uses only OpenSSL and memory, so that it shares no code with peal. It has no socket:
// the test passes received bytes in, and takes out the bytes to send. A test may set up its SSL object in any way, and
// misuse it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

namespace peal::test {

class TlsCodec {
 public:
  using SetUp = std::function<void(SSL*)>;

  // Makes the client's side, which accepts every certificate, or the server's side, which has a certificate of its own.
  explicit TlsCodec(bool is_server, const SetUp& set_up = {});

  // Decrypts bytes from the other side and appends their content to plain(). If TLS must answer, take_wire() then
  // returns the bytes of the answer.
  void hear(std::string_view wire);
  // Continues the handshake. Returns true when it is done.
  bool shake_hands();
  bool ready() const { return ready_; }
  bool all_said() const { return unsaid_.empty(); }
  // Encrypts `plain`. Before the end of the handshake, the bytes are stored. They are encrypted when the handshake is
  // done.
  void say(std::string_view plain);
  // Ends the output with close_notify. During the handshake, this is delayed until the handshake is done.
  void end();
  // Returns the bytes that must be sent to the other side, and removes them from this object.
  std::string take_wire();

  std::string& plain() { return plain_; }
  // True if the other side has sent close_notify.
  bool ended() const { return ended_; }
  // Returns the number of the fatal alert that the other side has sent, or 0 if none has arrived. The number 0 is
  // close_notify, which is not a fatal alert.
  int alert() const { return alert_; }
  // True if TLS has failed, by an alert or by another error.
  bool failed() const { return failed_; }
  SSL* ssl() const { return ssl_.get(); }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  void read();
  void fail();

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  std::string plain_;
  std::string unsaid_;
  bool ready_ = false;
  bool ended_ = false;
  bool ends_ = false;
  bool failed_ = false;
  int alert_ = 0;
};

}  // namespace peal::test
