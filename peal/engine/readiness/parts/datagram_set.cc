// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/datagram_set.h>

#include <linux/errqueue.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <peal/base/assert.h>
#include <peal/engine/parts/socket_calls.h>

namespace peal::detail {
namespace {

constexpr int kDatagramsPerTurn = 32;
// A datagram takes no more blocks than it fills.
constexpr size_t kParts = (Engine::kMostDatagramBytes + kLargeBlockBytes - 1) / kLargeBlockBytes;

// The oldest entry of the error queue; none when it is empty.
std::optional<int> take_queued_error(int fd) {
  alignas(cmsghdr) std::array<char, 512> control;
  msghdr message{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return std::nullopt;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    bool is_error = (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_RECVERR) ||
                    (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_RECVERR);
    if (is_error) return static_cast<int>(reinterpret_cast<const sock_extended_err*>(CMSG_DATA(each))->ee_errno);
  }
  return 0;
}

}  // namespace

Result<DatagramId> DatagramSet::open(const SocketAddress& local, DatagramEvents& events) {
  Result<Fd> fd = open_datagram_socket(local);
  if (!fd) return std::unexpected(fd.error());
  uint32_t slot = sockets_.acquire();
  Socket& socket = sockets_[slot];
  const Result<WatchId> watch = engine_.watch(fd->get(), true, false, socket);
  if (!watch) {
    sockets_.release(slot);
    close_bound(std::move(*fd));
    return std::unexpected(watch.error());
  }
  socket.watch = *watch;
  socket.set = this;
  socket.events = &events;
  socket.closing = false;
  socket.fd = std::move(*fd);
  return DatagramId{slot, socket.generation};
}

const DatagramSet::Socket* DatagramSet::find(DatagramId id) const {
  const Socket* socket = sockets_.find(id.slot, id.generation);
  if (socket != nullptr && !socket->closing) return socket;
  ++stats_.stale_calls;
  return nullptr;
}

Result<SocketAddress> DatagramSet::local_address(DatagramId id) const {
  const Socket* socket = find(id);
  if (socket == nullptr) return fail(EBADF);
  return detail::local_address(socket->fd.get());
}

Result<void> DatagramSet::send(DatagramId id, const SocketAddress& to, std::string_view bytes) {
  const Socket* socket = find(id);
  if (socket == nullptr) return fail(EBADF);
  // What an earlier datagram met is answered once, to whoever comes next; this one is then tried again.
  int error = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (::sendto(socket->fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL, to.data(), to.size()) >= 0) {
      ++stats_.datagrams_sent;
      return {};
    }
    error = errno;
    if (error == EAGAIN || error == EMSGSIZE) break;
  }
  return fail(error);
}

void DatagramSet::close(DatagramId id) {
  const Socket* socket = find(id);
  if (socket == nullptr) return;
  sockets_[id.slot].closing = true;
  engine_.unwatch(socket->watch);
}

void DatagramSet::Socket::on_ready(bool /*readable*/, bool /*writable*/) {
  const uint32_t before = generation;
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    if (!set->receive_one(*this) || generation != before || closing) break;
  }
  if (generation == before && !closing) set->receive_errors(*this);
}

void DatagramSet::Socket::on_unwatched() {
  DatagramEvents* owner = std::exchange(events, nullptr);
  close_bound(std::move(fd));
  set->sockets_.release(slot);
  owner->on_datagrams_closed();
}

// False when there is none.
bool DatagramSet::receive_one(Socket& socket) {
  BlockPool& pool = BlockPool::here();
  std::array<Block*, kParts> blocks;
  std::array<iovec, kParts> parts;
  for (size_t i = 0; i < kParts; ++i) {
    blocks[i] = pool.acquire(kLargeBlockBytes);
    parts[i] = {.iov_base = blocks[i]->data, .iov_len = kLargeBlockBytes};
  }
  parts.back().iov_len = Engine::kMostDatagramBytes - (kParts - 1) * kLargeBlockBytes;
  sockaddr_storage from{};
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  ssize_t count = ::recvmsg(socket.fd.get(), &message, MSG_DONTWAIT);
  const int error = count < 0 ? errno : 0;
  Buffer bytes;
  auto left = static_cast<uint32_t>(std::max<ssize_t>(count, 0));
  // From the last on, so that the pool hands out the warmest again first.
  for (size_t i = kParts; i-- > 0;) {
    if (left <= i * kLargeBlockBytes) pool.unref(blocks[i]);
  }
  for (size_t i = 0; left > 0; ++i) {
    uint32_t size = std::min(left, kLargeBlockBytes);
    bytes.append(Buffer(blocks[i], 0, size));
    left -= size;
  }
  if (error != 0) return error != EAGAIN;
  ++stats_.datagrams_received;
  socket.events->on_datagram(SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&from), message.msg_namelen),
                             bytes);
  return true;
}

void DatagramSet::receive_errors(Socket& socket) {
  const uint32_t before = socket.generation;
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    std::optional<int> error = take_queued_error(socket.fd.get());
    if (!error) return;
    if (*error != 0) socket.events->on_datagram_error(errno_code(*error));
    if (socket.generation != before || socket.closing) return;
  }
}

}  // namespace peal::detail
