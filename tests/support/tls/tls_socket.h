// SPDX-License-Identifier: BSD-3-Clause
// TlsSocket: TLS on a socket of a RawPeer's. Nothing waits: what a test sends before the handshake is done goes out
// after it, as does its FIN, and a close comes once all is out. Somebody has to tend them meanwhile: wait_until() of
// the rigs does. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <peal/base/fd.h>
#include <tests/support/tls/tls_codec.h>

namespace peal::test {

class TlsSocket {
 public:
  // Of a connected socket that stays its owner's.
  static std::unique_ptr<TlsSocket> begin(int fd);
  ~TlsSocket();
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;

  void send(std::string_view bytes);
  // At most one record; 0 while what was given before is not out.
  size_t try_send(std::string_view bytes);
  // What was read from the socket.
  void hear(std::string_view wire);
  std::string take_plain() { return std::exchange(codec_.plain(), {}); }
  bool peer_ended() const { return codec_.ended(); }
  void fin();
  // Ends, and closes once all is out.
  static void close(std::unique_ptr<TlsSocket> socket, Fd fd);

  // Goes on with those that are not ready, or have something left to say.
  static void tend_all();
  // Those that were to be closed are, at once.
  static void forget_all();

 private:
  explicit TlsSocket(int fd);
  bool is_busy() const { return !codec_.failed() && !gone_ && (!codec_.ready() || !unsent_.empty()); }
  void tend();
  void flush();

  const int fd_;
  TlsCodec codec_{false};
  std::string unsent_;
  bool wants_fin_ = false;
  bool gone_ = false;
  Fd closing_;
};

}  // namespace peal::test
