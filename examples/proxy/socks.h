// SPDX-License-Identifier: BSD-3-Clause
// The server's side of SOCKS 4, 4a and 5 (RFC 1928) up to CONNECT, as a function of bytes: no names are looked up here,
// nothing is connected. SOCKS 5 without authentication, which is for a proxy that listens where only friends are.
#pragma once

#include <string>
#include <system_error>

#include <peal/base/memory/buffer.h>
#include <peal/net/host_port.h>

namespace peal::examples {

class SocksHandshake {
 public:
  enum class State {
    kMore,     // send reply(), if there is one, and wait for more input
    kConnect,  // target() is to be connected; then send granted() or refused()
    kHangUp,   // send reply() and close
  };

  // Consumes what it understands of `input`.
  State take(Buffer& input);
  std::string reply();
  // Whom the client wants to reach. Never a unix socket, whatever it asks for.
  const HostPort& target() const { return target_; }
  std::string granted() const;
  std::string refused(std::error_code why) const;

 private:
  State take_socks4(Buffer& input);
  State take_greeting(Buffer& input);
  State take_socks5(Buffer& input);
  State hang_up(std::string reply);
  std::string socks5_reply(char code) const;

  int version_ = 0;  // none yet
  bool greeted_ = false;
  std::string reply_;
  HostPort target_;
};

}  // namespace peal::examples
