// SPDX-License-Identifier: BSD-3-Clause
// The server's side of SOCKS 4, 4a and 5 (RFC 1928) up to CONNECT. It only turns bytes into a request: it looks up no
// names and opens no connections. SOCKS 5 is done without authentication, so let only trusted clients reach the proxy.
#pragma once

#include <string>
#include <system_error>

#include <peal/base/memory/buffer.h>
#include <peal/net/host_port.h>

namespace peal::examples {

class SocksHandshake {
 public:
  enum class State {
    kMore,     // send reply() if it is not empty, and call take() again, now or with more input
    kConnect,  // connect to target(), then send granted() or refused()
    kHangUp,   // send reply() and close
  };

  // Reads the next part of the handshake, a greeting or a request, and returns what the caller must do next. Consumes a
  // part of `input` only when all bytes of that part have arrived. A request that take() refuses stays in `input`,
  // because the connection ends anyway.
  State take(Buffer& input);
  std::string reply();
  // Returns the host and port that the client wants to reach. They are not returned as one text, because the text
  // "unix:8080" would name a unix socket of this machine. A HostPort always names a host.
  const HostPort& target() const { return target_; }
  std::string granted() const;
  std::string refused(std::error_code why) const;

 private:
  State take_socks4(Buffer& input);
  State take_greeting(Buffer& input);
  State take_socks5(Buffer& input);
  State hang_up(std::string reply);
  std::string socks5_reply(char code) const;

  int version_ = 0;  // 0 if the version is not known yet
  bool greeted_ = false;
  std::string reply_;
  HostPort target_;
};

}  // namespace peal::examples
