// SPDX-License-Identifier: BSD-3-Clause
// TlsCodec: the other side of TLS, by OpenSSL on memory and nothing of peal's: bytes in, bytes out. A test may set up
// its SSL as it likes, and misuse it.
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

  // A client that believes everybody, or a server with a certificate of its own.
  explicit TlsCodec(bool is_server, const SetUp& set_up = {});

  // Bytes from the wire. What they hold is in plain() then, and what they ask to be said in take_wire().
  void hear(std::string_view wire);
  // Goes on with the handshake; true once it is done.
  bool shake_hands();
  bool ready() const { return ready_; }
  bool all_said() const { return unsaid_.empty(); }
  // Seals it; before ready() it waits.
  void say(std::string_view plain);
  // close_notify.
  void end();
  // What is to be sent.
  std::string take_wire();

  std::string& plain() { return plain_; }
  // The other side's close_notify came.
  bool ended() const { return ended_; }
  // The fatal alert of the other side; 0: none.
  int alert() const { return alert_; }
  // It failed, by an alert or otherwise.
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
