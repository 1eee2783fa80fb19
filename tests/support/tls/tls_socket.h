// SPDX-License-Identifier: BSD-3-Clause
// TlsSocket: TLS on the socket of a RawPeer. No call blocks. Bytes and a FIN that the test sends before the end of the
// handshake are sent after it.
//
// The fd of a closed socket stays open until everything is sent. Until then tend_all() must be called repeatedly, as
// wait_until() of NetTest does. Only one thread may use TlsSockets at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <peal/base/fd.h>
#include <tests/support/tls/tls_codec.h>

namespace peal::test {

class TlsSocket {
 public:
  // Begins TLS on a connected socket. The caller still owns the fd.
  static std::unique_ptr<TlsSocket> begin(int fd);
  ~TlsSocket();
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;

  void send(std::string_view bytes);
  // Sends at most one TLS record with the beginning of `bytes`. Returns how many bytes it has taken. Returns 0 if
  // earlier bytes are still unsent.
  size_t try_send(std::string_view bytes);
  // Decrypts bytes that the caller has read from the socket.
  void hear(std::string_view wire);
  std::string take_plain() { return std::exchange(codec_.plain(), {}); }
  bool peer_ended() const { return codec_.ended(); }
  void fin();
  // Sends close_notify. Closes the fd when all bytes were sent, or when an error makes sending impossible.
  static void close(std::unique_ptr<TlsSocket> socket, Fd fd);

  // For all sockets, continues handshakes that are not done, and sends bytes that wait to be sent.
  static void tend_all();
  // Closes all sockets that close() has left open because of unsent bytes. These bytes are lost.
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
