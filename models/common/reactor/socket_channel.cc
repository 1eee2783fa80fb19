// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/socket_channel.h>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace peal::models {
namespace {

// A message with one byte and one fd. The byte has no meaning, but it is necessary. Without it, recvmsg(2) would return
// 0, as it does at the end of the channel.
struct FdMessage {
  FdMessage() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  FdMessage(const FdMessage&) = delete;
  FdMessage& operator=(const FdMessage&) = delete;

  char byte = 0;
  iovec part{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
};

}  // namespace

Result<SocketChannel> SocketChannel::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return fail(errno);
  return SocketChannel{Fd(ends[0]), Fd(ends[1])};
}

Result<void> send_socket(int sends, int socket) {
  FdMessage parcel;
  cmsghdr* const header = CMSG_FIRSTHDR(&parcel.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof socket);
  std::memcpy(CMSG_DATA(header), &socket, sizeof socket);
  while (::sendmsg(sends, &parcel.message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return fail(errno);
  }
  return {};
}

Accepted receive_socket(int receives) {
  FdMessage parcel;
  ssize_t got = 0;
  do {
    got = ::recvmsg(receives, &parcel.message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return {errno == EAGAIN ? CallOutcome::kWouldBlock : CallOutcome::kEnd};
  if (got == 0) return {CallOutcome::kEnd};
  const cmsghdr* const header = CMSG_FIRSTHDR(&parcel.message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {CallOutcome::kNoRoom};  // MSG_CTRUNC: no free fd
  int socket = -1;
  std::memcpy(&socket, CMSG_DATA(header), sizeof socket);
  return {CallOutcome::kDone, Fd(socket)};
}

}  // namespace peal::models
