// SPDX-License-Identifier: BSD-3-Clause
// WatchedDatagrams: a datagram socket of the kernel. Engine::watch() is all that it needs of an engine.
//
// Errors that come back by ICMP are read from the socket's error queue (IP_RECVERR, ip(7)). Without the queue, an
// unconnected UDP socket never learns of an error. With it, an error also makes the next call on the socket fail, no
// matter which datagram it concerns. Such a failed call is therefore not reported: its error is in the queue as well.
//
// The kernel counts the datagrams that it drops because the receive buffer is full, from the opening of the socket on.
// With each datagram that it queues it stores the count at that time (SO_RXQ_OVFL, socket(7)). The count has 32 bits
// and wraps. While it is 0 nothing is stored.
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <peal/engine/engine.h>
#include <peal/engine/parts/socket_setup.h>
#include <peal/engine/socket_file.h>

namespace peal {
namespace {

constexpr int kDatagramsPerTurn = 32;

class WatchedDatagrams final : public Datagrams, private WatchEvents {
 public:
  // Opens the socket. The object then owns itself and is destroyed in on_unwatched(), which follows close() or the
  // engine's shut().
  static Result<Datagrams*> open(Engine& engine, const SocketAddress& local, const DatagramOptions& options,
                                 DatagramEvents& events) {
    Result<Fd> fd = detail::open_datagram_socket(local, options);
    if (!fd) return std::unexpected(fd.error());
    std::unique_ptr<WatchedDatagrams> self(new WatchedDatagrams(engine, std::move(*fd), local.is_ip(), events));
    const Result<WatchId> watch = engine.watch(self->fd_.get(), true, false, *self);
    if (!watch) return std::unexpected(watch.error());
    self->watch_ = *watch;
    WatchedDatagrams& opened = *self;
    opened.self_ = std::move(self);
    return &opened;
  }
  ~WatchedDatagrams() { file_.remove(); }

  Result<SocketAddress> local_address() const override { return detail::local_address(fd_.get()); }
  Result<DatagramBuffers> buffers() const override {
    return closing_ ? fail(EBADF) : detail::datagram_buffers(fd_.get());
  }
  Result<void> send(const SocketAddress& to, std::string_view bytes) override;
  Result<void> join(const SocketAddress& group, const std::string& interface) override {
    return closing_ ? fail(EBADF) : detail::change_membership(fd_.get(), MCAST_JOIN_GROUP, group, interface);
  }
  Result<void> leave(const SocketAddress& group, const std::string& interface) override {
    return closing_ ? fail(EBADF) : detail::change_membership(fd_.get(), MCAST_LEAVE_GROUP, group, interface);
  }
  void close() override {
    if (!std::exchange(closing_, true)) engine_.unwatch(watch_);
  }

 private:
  WatchedDatagrams(Engine& engine, Fd fd, bool has_error_queue, DatagramEvents& events)
      : engine_(engine),
        events_(events),
        fd_(std::move(fd)),
        file_(SocketFile::of(fd_.get())),
        has_error_queue_(has_error_queue) {}

  void on_ready(bool readable, bool writable) override;
  void on_unwatched() override {
    DatagramEvents& events = events_;
    self_.reset();
    events.on_datagrams_closed();
  }
  bool receive_one();
  void note_drops(const msghdr& message);
  bool receive_error();

  Engine& engine_;
  DatagramEvents& events_;
  Fd fd_;
  const SocketFile file_;
  // False for a unix socket. Such a socket has no error queue: reading one would take the next datagram instead.
  const bool has_error_queue_;
  WatchId watch_;
  uint32_t drops_ = 0;  // The last count of dropped datagrams that the kernel has given.
  bool closing_ = false;
  std::unique_ptr<WatchedDatagrams> self_;
};

Result<void> WatchedDatagrams::send(const SocketAddress& to, std::string_view bytes) {
  if (closing_) return fail(EBADF);
  // An error of an earlier datagram makes the next call on the socket fail, whichever call that is. If that was this
  // sendto(), the datagram is tried again.
  int error = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (::sendto(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL, to.data(), to.size()) >= 0) return {};
    error = errno;
    if (error == EAGAIN || error == EMSGSIZE) break;
  }
  return fail(error);
}

void WatchedDatagrams::on_ready(bool /*readable*/, bool /*writable*/) {
  for (int i = 0; i < kDatagramsPerTurn && !closing_ && receive_one(); ++i) {
  }
  for (int i = 0; i < kDatagramsPerTurn && !closing_ && has_error_queue_ && receive_error(); ++i) {
  }
}

// Receives one datagram and delivers it. Returns false if no datagram is there, or if the owner has closed the socket.
bool WatchedDatagrams::receive_one() {
  sockaddr_storage from{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(uint32_t))> control;
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  Buffer bytes;
  if (detail::receive_blocks(fd_.get(), message, Engine::kMostDatagramBytes, bytes) < 0) return errno != EAGAIN;
  note_drops(message);
  if (closing_) return false;
  events_.on_datagram(SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&from), message.msg_namelen), bytes);
  return true;
}

void WatchedDatagrams::note_drops(const msghdr& message) {
  const cmsghdr* told = CMSG_FIRSTHDR(&message);
  if (told == nullptr || told->cmsg_level != SOL_SOCKET || told->cmsg_type != SO_RXQ_OVFL) return;
  uint32_t drops = 0;
  std::memcpy(&drops, CMSG_DATA(told), sizeof drops);
  const uint32_t more = drops - std::exchange(drops_, drops);
  if (more > 0) events_.on_datagrams_dropped(more);
}

// Takes the oldest entry from the error queue and reports its error to the owner. Returns false if the queue is empty.
bool WatchedDatagrams::receive_error() {
  const std::optional<int> met = detail::take_queued_error(fd_.get());
  if (met && *met != 0) events_.on_datagram_error(errno_code(*met));
  return met.has_value();
}

}  // namespace

Result<Datagrams*> Engine::open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                          DatagramEvents& events) {
  return WatchedDatagrams::open(*this, local, options, events);
}

}  // namespace peal
