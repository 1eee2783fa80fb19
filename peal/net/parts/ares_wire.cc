// SPDX-License-Identifier: BSD-3-Clause
// c-ares closes a socket inside its calls, but a watched fd must stay open until on_unwatched. So c-ares gets its
// sockets from the functions in this file (ares_set_socket_functions(3)). A socket that c-ares closes stays open until
// the engine has released it. These functions also avoid SIGPIPE when a name server closes a TCP connection.
#include <peal/net/parts/ares_wire.h>

#include <ares.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <cerrno>
#include <tuple>
#include <utility>

#include <peal/base/assert.h>

namespace peal::detail {
namespace {

// Size of the receive buffer of a UDP socket. While the loop is busy, many answers may arrive. An answer that finds no
// room is lost, and its question is asked again only seconds later. The kernel grants at most net.core.rmem_max.
constexpr int kReceiveBufferBytes = 1 << 20;

// Initialises c-ares once for the process. Returns false if that failed. c-ares is never cleaned up.
bool library_ready() {
  static const bool ready = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  return ready;
}

}  // namespace

std::error_code ares_error(int status) {
  switch (status) {
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_ENONAME: return Trouble::kHostNotFound;
    case ARES_ETIMEOUT: return Trouble::kNoAnswer;
    case ARES_EBADNAME:
    case ARES_EBADSTR: return Trouble::kBadAddress;
    case ARES_ENOMEM: return errno_code(ENOMEM);
    case ARES_EFILE: return errno_code(EIO);
    default: return Trouble::kNameServerFailed;
  }
}

// The functions that c-ares calls back. Their argument `data` is the AresWire.
struct AresWire::Calls {
  static AresWire& wire(void* data) { return *static_cast<AresWire*>(data); }

  static std::error_code watch(AresWire& wire, Socket& socket, Readiness interest) {
    auto process = [&wire, fd = socket.fd.get()](Readiness ready) {
      wire.process(ready.readable ? fd : ARES_SOCKET_BAD, ready.writable ? fd : ARES_SOCKET_BAD);
    };
    socket.watch = std::make_unique<Watch>(wire.loop_, socket.fd.get(), interest, process, [](auto) {});
    return socket.watch->error();
  }
  static void state(void* data, int fd, int readable, int writable) {
    const auto found = wire(data).sockets_.find(fd);
    PEAL_ASSERT(found != wire(data).sockets_.end(), "c-ares asks for fd {}, which is not its own", fd);
    Socket& socket = found->second;
    const Readiness interest{.readable = readable != 0, .writable = writable != 0};
    // This function cannot return an error to c-ares. If the watch of the socket has failed, a new watch is created,
    // provided that c-ares wants any events. If the new watch fails too, the timeouts of c-ares end the question.
    if (!socket.watch->error()) return socket.watch->set_interest(interest);
    if (interest != Readiness{}) std::ignore = watch(wire(data), socket, interest);
  }
  // Opens a socket for c-ares and begins to watch it. If opening or watching fails, c-ares asks the next server or
  // gives up.
  static int open(int domain, int type, int protocol, void* data) {
    const int fd = ::socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (fd < 0) return fd;
    if (type == SOCK_DGRAM) {
      ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
    }
    Socket socket{Fd(fd), nullptr};
    if (const std::error_code error = watch(wire(data), socket, {.readable = true})) {
      errno = error.value();
      return ARES_SOCKET_BAD;
    }
    const bool is_new = wire(data).sockets_.emplace(fd, std::move(socket)).second;
    PEAL_ASSERT(is_new, "fd {} is open twice", fd);
    return fd;
  }
  static int close(int fd, void* data) {
    auto closed = wire(data).sockets_.extract(fd);
    PEAL_ASSERT(!closed.empty(), "c-ares closes fd {}, which is not its own", fd);
    Socket& socket = closed.mapped();
    socket.watch->stop([fd = std::move(socket.fd)] {});
    return 0;
  }
  static int connect(int fd, const sockaddr* address, socklen_t size, void*) { return ::connect(fd, address, size); }
  static ssize_t receive(int fd, void* into, size_t size, int flags, sockaddr* from, socklen_t* from_size, void*) {
    return ::recvfrom(fd, into, size, flags, from, from_size);
  }
  static ssize_t send(int fd, const iovec* parts, int count, void*) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = static_cast<size_t>(count);
    return ::sendmsg(fd, &message, MSG_NOSIGNAL);
  }
};

AresWire::AresWire(Loop& loop, Callback<void()> on_progress)
    : loop_(loop), mailbox_(loop.mailbox()), on_progress_(std::move(on_progress)) {}

AresWire::~AresWire() {
  if (Loop* loop = mailbox_->reachable()) loop->cancel(timer_);
  if (channel_ != nullptr) ares_destroy(channel_);
}

Result<void> AresWire::open(ares_options wanted, int mask) {
  if (!library_ready()) return fail(ENOMEM);
  wanted.sock_state_cb = &Calls::state;
  wanted.sock_state_cb_data = this;
#ifdef ARES_OPT_QUERY_CACHE
  // Newer versions of c-ares, such as 1.34, keep answers unless they are told not to.
  wanted.qcache_max_ttl = 0;
  mask |= ARES_OPT_QUERY_CACHE;
#endif
  if (const int status = ares_init_options(&channel_, &wanted, mask | ARES_OPT_SOCK_STATE_CB); status != ARES_SUCCESS) {
    return std::unexpected(ares_error(status));
  }
  static constexpr ares_socket_functions kCalls{&Calls::open, &Calls::close, &Calls::connect, &Calls::receive,
                                                &Calls::send};
  ares_set_socket_functions(channel_, &kCalls, this);
  return {};
}

// Copies a channel as ares_dup(3) does, but with other flags. The servers are copied separately, because
// ares_save_options() does not save every server.
Result<void> AresWire::open_like(const AresWire& other, int flags) {
  ares_options saved{};
  ares_addr_port_node* servers = nullptr;
  int mask = 0;
  int status = ares_save_options(other.channel_, &saved, &mask);
  saved.flags = flags;
  Result<void> opened =
      status == ARES_SUCCESS ? open(saved, mask | ARES_OPT_FLAGS) : std::unexpected(ares_error(status));
  ares_destroy_options(&saved);
  if (!opened) return opened;
  status = ares_get_servers_ports(other.channel_, &servers);
  if (status == ARES_SUCCESS) status = ares_set_servers_ports(channel_, servers);
  ares_free_data(servers);
  return status == ARES_SUCCESS ? Result<void>() : std::unexpected(ares_error(status));
}

void AresWire::process(int readable_fd, int writable_fd) {
  ares_process_fd(channel_, readable_fd, writable_fd);
  rearm_timer();
  on_progress_();
}

void AresWire::rearm_timer() {
  if (timer_) loop_.cancel(std::exchange(timer_, {}));
  timeval left{};
  if (ares_timeout(channel_, nullptr, &left) == nullptr) return;
  timer_ = loop_.after(std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec), [this] {
    timer_ = {};
    process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  });
}

}  // namespace peal::detail
