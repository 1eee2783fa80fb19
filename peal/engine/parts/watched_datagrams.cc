// SPDX-License-Identifier: BSD-3-Clause
// A datagram socket of the kernel's over Engine::watch(), which is all it needs of an engine.
//
// Errors that come back (ICMP) are read from the socket's error queue (IP_RECVERR, ip(7)): without it an unconnected
// UDP socket is told of none, and with it the next call of any kind fails with them, whomever it means; so what such a
// call answers is no news.
#include <sys/socket.h>

#include <cerrno>
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
  // Owns itself from then on, until it is unwatched: by close(), or by an engine that shuts.
  static Result<Datagrams*> open(Engine& engine, const SocketAddress& local, DatagramEvents& events) {
    Result<Fd> fd = detail::open_datagram_socket(local);
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
  Result<void> send(const SocketAddress& to, std::string_view bytes) override;
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
  bool receive_error();

  Engine& engine_;
  DatagramEvents& events_;
  Fd fd_;
  const SocketFile file_;
  const bool has_error_queue_;  // a unix socket would hand over its next datagram instead
  WatchId watch_;
  bool closing_ = false;
  std::unique_ptr<WatchedDatagrams> self_;
};

Result<void> WatchedDatagrams::send(const SocketAddress& to, std::string_view bytes) {
  if (closing_) return fail(EBADF);
  // What an earlier datagram met is answered once, to whoever comes next; this one is then tried again.
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

// False when there is none.
bool WatchedDatagrams::receive_one() {
  sockaddr_storage from{};
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  Buffer bytes;
  if (detail::receive_blocks(fd_.get(), message, Engine::kMostDatagramBytes, bytes) < 0) return errno != EAGAIN;
  events_.on_datagram(SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&from), message.msg_namelen), bytes);
  return true;
}

// Tells the oldest entry of the error queue; false when that is empty.
bool WatchedDatagrams::receive_error() {
  const std::optional<int> met = detail::take_queued_error(fd_.get());
  if (met && *met != 0) events_.on_datagram_error(errno_code(*met));
  return met.has_value();
}

}  // namespace

Result<Datagrams*> Engine::open_datagrams(const SocketAddress& local, DatagramEvents& events) {
  return WatchedDatagrams::open(*this, local, events);
}

}  // namespace peal
