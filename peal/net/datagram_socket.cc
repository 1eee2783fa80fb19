// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/datagram_socket.h>

#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>
#include <peal/engine/engine.h>
#include <peal/loop/on_loop.h>

namespace peal {
namespace detail {

// DatagramPort is the object that the engine calls for a DatagramSocket. It lives until the engine has released it.
class DatagramPort final : public DatagramEvents, public std::enable_shared_from_this<DatagramPort> {
 public:
  DatagramPort(DatagramSocket& owner, Loop& loop, DatagramCallbacks callbacks)
      : owner_(&owner), loop_(loop), callbacks_(std::move(callbacks)) {}

  Result<SocketAddress> open(const SocketAddress& local, const DatagramOptions& options) {
    if (used_) return fail(EALREADY);
    const Result<Datagrams*> opened = loop_.engine().open_datagrams(local, options, *this);
    if (!opened) return std::unexpected(opened.error());
    used_ = true;
    datagrams_ = *opened;
    self_ = shared_from_this();
    return local_address();
  }
  Result<SocketAddress> local_address() const {
    if (datagrams_ == nullptr) return fail(EBADF);
    return datagrams_->local_address();
  }
  Result<void> send(const SocketAddress& to, std::string_view bytes) {
    const Result<void> sent = datagrams_ != nullptr ? datagrams_->send(to, bytes) : fail(EBADF);
    stats_.sent += sent ? 1 : 0;
    stats_.sent_bytes += sent ? bytes.size() : 0;
    stats_.dropped += sent ? 0 : 1;
    return sent;
  }
  Datagrams* datagrams() const { return datagrams_; }
  void close() {
    if (datagrams_ != nullptr) std::exchange(datagrams_, nullptr)->close();
  }
  void orphan() { owner_ = nullptr; }
  bool is_open() const { return datagrams_ != nullptr; }
  const DatagramStats& stats() const { return stats_; }

 private:
  void on_datagram(const SocketAddress& from, Buffer& bytes) override {
    ++stats_.received;
    stats_.received_bytes += bytes.size();
    call(callbacks_.on_datagram, from, bytes);
  }
  void on_datagrams_dropped(uint64_t count) override { stats_.kernel_dropped += count; }
  void on_datagram_error(std::error_code error) override {
    ++stats_.errors;
    call(callbacks_.on_error, error);
  }
  // Called when the engine has released the datagram socket: after close(), or because the engine shuts down.
  void on_datagrams_closed() override {
    datagrams_ = nullptr;
    self_.reset();
  }

  template <class Callback, class... Args>
  void call(Callback& callback, Args&&... args) {
    if (!callback || owner_ == nullptr) return;
    try {
      callback(*owner_, std::forward<Args>(args)...);
    } catch (...) {
      ++stats_.exceptions;
      if (const auto suppressed = exception_limiter_.admit(loop_.now())) {
        PEAL_LOG_ERROR("a datagram socket's callback threw: {} ({} more like it)", what_was_thrown(), *suppressed);
      }
    }
  }

  DatagramSocket* owner_;  // null after the DatagramSocket was destroyed
  Loop& loop_;
  DatagramCallbacks callbacks_;
  // The socket in the engine. The engine owns it; null while the socket is not open.
  Datagrams* datagrams_ = nullptr;
  std::shared_ptr<DatagramPort> self_;  // set while the engine may call this object
  DatagramStats stats_;
  LogLimiter exception_limiter_{std::chrono::seconds(1)};
  bool used_ = false;
};

}  // namespace detail

DatagramSocket::DatagramSocket(Loop& loop, DatagramCallbacks callbacks)
    : mailbox_(loop.mailbox()), port_(std::make_shared<detail::DatagramPort>(*this, loop, std::move(callbacks))) {}

// If the loop has ended, on_loop_and_wait() does nothing: the loop's engine has released the port already.
DatagramSocket::~DatagramSocket() {
  detail::on_loop_and_wait(*mailbox_, [this](Loop&) {
    port_->close();
    port_->orphan();
  });
}

Result<SocketAddress> DatagramSocket::open(const SocketAddress& local, const DatagramOptions& options) {
  if (!mailbox_->open()) return fail(Trouble::kLoopStopped);
  PEAL_ASSERT(mailbox_->here() != nullptr, "a datagram socket is opened for {} outside its loop", local.to_string());
  return port_->open(local, options);
}

Result<SocketAddress> DatagramSocket::open(std::string_view local, const DatagramOptions& options) {
  const Result<SocketAddress> parsed = SocketAddress::parse(local);
  return parsed ? open(*parsed, options) : parsed;
}

Result<DatagramBuffers> DatagramSocket::buffers() const {
  return is_open() ? port_->datagrams()->buffers() : fail(EBADF);
}

Result<void> DatagramSocket::join(const SocketAddress& group, const std::string& interface) {
  return is_open() ? port_->datagrams()->join(group, interface) : fail(EBADF);
}

Result<void> DatagramSocket::join(std::string_view group, const std::string& interface) {
  const Result<SocketAddress> parsed = SocketAddress::parse(group);
  return parsed ? join(*parsed, interface) : std::unexpected(parsed.error());
}

Result<void> DatagramSocket::leave(const SocketAddress& group, const std::string& interface) {
  return is_open() ? port_->datagrams()->leave(group, interface) : fail(EBADF);
}

Result<void> DatagramSocket::leave(std::string_view group, const std::string& interface) {
  const Result<SocketAddress> parsed = SocketAddress::parse(group);
  return parsed ? leave(*parsed, interface) : std::unexpected(parsed.error());
}

Result<SocketAddress> DatagramSocket::local_address() const { return port_->local_address(); }
Result<void> DatagramSocket::send_to(const SocketAddress& to, std::string_view bytes) { return port_->send(to, bytes); }
void DatagramSocket::close() { port_->close(); }
bool DatagramSocket::is_open() const { return port_->is_open(); }
const DatagramStats& DatagramSocket::stats() const { return port_->stats(); }

}  // namespace peal
