// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/tls/tls_socket.h>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace peal::test {
namespace {

std::vector<TlsSocket*>& living() {
  static std::vector<TlsSocket*> sockets;
  return sockets;
}

std::vector<std::unique_ptr<TlsSocket>>& closing() {
  static std::vector<std::unique_ptr<TlsSocket>> sockets;
  return sockets;
}

}  // namespace

TlsSocket::TlsSocket(int fd) : fd_(fd) { living().push_back(this); }
TlsSocket::~TlsSocket() { std::erase(living(), this); }

std::unique_ptr<TlsSocket> TlsSocket::begin(int fd) {
  std::unique_ptr<TlsSocket> socket(new TlsSocket(fd));
  socket->codec_.shake_hands();
  socket->flush();
  return socket;
}

void TlsSocket::send(std::string_view bytes) {
  codec_.say(bytes);
  flush();
}

size_t TlsSocket::try_send(std::string_view bytes) {
  constexpr size_t kMostRecordBytes = 16 * 1024;
  tend();
  if (!unsent_.empty() || !codec_.all_said()) return 0;
  const size_t taken = std::min(bytes.size(), kMostRecordBytes);
  send(bytes.substr(0, taken));
  return taken;
}

void TlsSocket::hear(std::string_view wire) {
  codec_.hear(wire);
  flush();
}

void TlsSocket::fin() {
  codec_.end();
  wants_fin_ = true;
  flush();
}

void TlsSocket::close(std::unique_ptr<TlsSocket> socket, Fd fd) {
  socket->codec_.end();
  socket->flush();
  if (!socket->is_busy()) return;
  socket->closing_ = std::move(fd);
  closing().push_back(std::move(socket));
}

void TlsSocket::tend_all() {
  for (TlsSocket* socket : living()) socket->tend();
  std::erase_if(closing(), [](const std::unique_ptr<TlsSocket>& socket) { return !socket->is_busy(); });
}

void TlsSocket::forget_all() { closing().clear(); }

void TlsSocket::tend() {
  std::array<char, 4096> room;
  flush();
  while (!codec_.ready() && !codec_.failed() && !gone_) {
    const ssize_t count = ::recv(fd_, room.data(), room.size(), 0);
    if (count <= 0) {
      gone_ = count == 0 || errno != EAGAIN;
      break;
    }
    hear({room.data(), static_cast<size_t>(count)});
  }
}

void TlsSocket::flush() {
  unsent_ += codec_.take_wire();
  while (!unsent_.empty()) {
    const ssize_t count = ::send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (count < 0) {
      gone_ = gone_ || errno != EAGAIN;
      return;
    }
    unsent_.erase(0, static_cast<size_t>(count));
  }
  if (wants_fin_ && codec_.ready()) {
    wants_fin_ = false;
    ::shutdown(fd_, SHUT_WR);
  }
}

}  // namespace peal::test
