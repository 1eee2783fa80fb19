// SPDX-License-Identifier: BSD-3-Clause
#include <tests/support/raw_peer.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include <tests/support/sealed/sealing.h>
#include <tests/support/tls/tls_socket.h>

namespace peal {
namespace {

constexpr rlim_t kFamineLimit = 512;
bool seals_now = false;
bool speaks_tls_now = false;

}  // namespace

RawPeer::RawPeer(int family)
    : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)), seals_(seals_now), speaks_tls_(speaks_tls_now) {
  EXPECT_TRUE(static_cast<bool>(fd_)) << std::strerror(errno);
}

RawPeer RawPeer::connected(const SocketAddress& address, int receive_buffer_bytes) {
  RawPeer peer(address.family());
  if (receive_buffer_bytes > 0) {
    EXPECT_EQ(::setsockopt(peer.fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes), 0)
        << std::strerror(errno);
  }
  peer.connect(address);
  return peer;
}
std::vector<RawPeer> RawPeer::connected_many(const SocketAddress& address, size_t count) {
  std::vector<RawPeer> peers(count);
  for (RawPeer& peer : peers) peer.connect(address);
  return peers;
}

RawPeer::~RawPeer() {
  if (tls_ && fd_) close();
}
RawPeer::RawPeer(RawPeer&&) noexcept = default;
RawPeer& RawPeer::operator=(RawPeer&&) noexcept = default;

void RawPeer::seal_all(bool on) { seals_now = on; }
void RawPeer::tend_all() { test::TlsSocket::tend_all(); }
void RawPeer::over_tls_all(bool on) {
  speaks_tls_now = on;
  if (!on) test::TlsSocket::forget_all();
}

void RawPeer::connect(const SocketAddress& address) {
  // Accepts ECONNRESET, too. On a busy machine, connect(2) may return late. The server may already have accepted and
  // reset the connection by then.
  const bool connected = ::connect(fd_.get(), address.data(), address.size()) == 0;
  EXPECT_TRUE(connected || errno == ECONNRESET) << std::strerror(errno);
  EXPECT_EQ(::fcntl(fd_.get(), F_SETFL, O_NONBLOCK), 0) << std::strerror(errno);
  if (seals_) send_some(test::kSealHello);
  if (speaks_tls_) tls_ = test::TlsSocket::begin(fd_.get());
}

void RawPeer::send(std::string_view bytes, int flags) {
  if (tls_) return tls_->send(bytes);
  std::string sealed;
  if (seals_) test::seal(bytes, sealed);
  const std::string_view sent = seals_ ? sealed : bytes;
  EXPECT_EQ(::send(fd_.get(), sent.data(), sent.size(), flags | MSG_NOSIGNAL), static_cast<ssize_t>(sent.size()))
      << std::strerror(errno);
}

size_t RawPeer::send_some(std::string_view bytes) {
  const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  EXPECT_TRUE(errno == EAGAIN || errno == EPIPE || errno == ECONNRESET) << std::strerror(errno);
  return 0;
}

// Returns how many of `bytes` were taken. A peer that uses the sealing layer sends records. The bytes of a record count
// only when the whole record was sent. If a record was sent only partly, the next call must pass the bytes of this
// record again, at the beginning of `bytes`.
size_t RawPeer::try_send(std::string_view bytes) {
  if (tls_) return tls_->try_send(bytes);
  if (!seals_) return send_some(bytes);
  size_t done = 0;
  while (done < bytes.size()) {
    if (unsent_.empty()) {
      unsent_plain_ = std::min<size_t>(bytes.size() - done, test::kMostRecordBytes);
      test::seal(bytes.substr(done, unsent_plain_), unsent_);
    }
    unsent_.erase(0, send_some(unsent_));
    if (!unsent_.empty()) break;
    done += unsent_plain_;
  }
  return done;
}

void RawPeer::take(std::string_view bytes) {
  if (tls_) {
    tls_->hear(bytes);
    received_ += tls_->take_plain();
    marked_ = tls_->peer_ended();
    return;
  }
  if (!seals_) {
    received_.append(bytes);
    return;
  }
  sealed_.append(bytes);
  if (!greeted_) {
    EXPECT_TRUE(sealed_.starts_with(test::kSealHello)) << "the server did not begin with the sealed handshake";
    sealed_.erase(0, test::kSealHello.size());
    greeted_ = true;
  }
  if (!marked_) marked_ = test::unseal(sealed_, received_);
}

bool RawPeer::pump() {
  std::array<char, 65'536> room;
  if (tls_) take({});
  while (!ended_ && error_ == 0) {
    ssize_t got = ::recv(fd_.get(), room.data(), room.size(), 0);
    if (got > 0) {
      take({room.data(), static_cast<size_t>(got)});
    } else if (got == 0) {
      ended_ = true;
    } else if (errno == EAGAIN) {
      return true;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  return false;
}

void RawPeer::fin() {
  if (tls_) return tls_->fin();
  if (seals_) send_some(test::kEndMark);
  EXPECT_EQ(::shutdown(fd_.get(), SHUT_WR), 0) << std::strerror(errno);
}

void RawPeer::close() {
  if (tls_ && fd_) return test::TlsSocket::close(std::move(tls_), std::move(fd_));
  if (seals_ && fd_) send_some(test::kEndMark);
  fd_.reset();
}

void RawPeer::reset() {
  linger now{.l_onoff = 1, .l_linger = 0};
  EXPECT_EQ(::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now), 0) << std::strerror(errno);
  tls_.reset();
  fd_.reset();
}

FdExhaustion::FdExhaustion() {
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit_before_ = limit.rlim_cur;
  limit.rlim_cur = kFamineLimit;
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

void FdExhaustion::fill() {
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(null)) << std::strerror(errno);
  fillers_.push_back(std::move(null));
  for (;;) {
    Fd filler(::fcntl(fillers_.front().get(), F_DUPFD_CLOEXEC, 0));
    if (!filler) break;
    fillers_.push_back(std::move(filler));
  }
  EXPECT_EQ(errno, EMFILE) << std::strerror(errno);
}

FdExhaustion::~FdExhaustion() {
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit_before_;
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

}  // namespace peal
