// SPDX-License-Identifier: BSD-3-Clause
// c-ares closes a socket inside its calls, but a watched fd must stay open until on_unwatched. So it gets its sockets
// from here (ares_set_socket_functions(3)): one that it closes lives on until the engine lets go of it. It also spares
// the process the SIGPIPE of a name server that hangs up on TCP.
#include <peal/net/parts/resolver_channel.h>

#include <ares.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/fd.h>

namespace peal::detail {
namespace {

// Once for the process; what it sets up is never torn down.
bool library_ready() {
  static const bool ready = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  return ready;
}

// As c-ares takes it: an int, which it doubles with further tries. One that is no time at all would end each try at
// once.
int milliseconds_of_try(Duration time) {
  constexpr Duration kMost = std::chrono::minutes(10);
  const Duration taken = std::clamp<Duration>(time, std::chrono::milliseconds(1), kMost);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(taken).count());
}

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

}  // namespace

struct ResolverChannel::Question {
  ResolverChannel& channel;
  uint16_t port;
  Answer answer;
};

// What c-ares calls; `data` is the ResolverChannel.
struct ResolverChannel::Calls {
  static ResolverChannel& channel(void* data) { return *static_cast<ResolverChannel*>(data); }

  static std::error_code watch(ResolverChannel& channel, Socket& socket, Readiness interest) {
    auto process = [&channel, fd = socket.fd.get()](Readiness ready) {
      channel.process(ready.readable ? fd : ARES_SOCKET_BAD, ready.writable ? fd : ARES_SOCKET_BAD);
    };
    socket.watch = std::make_unique<Watch>(channel.loop_, socket.fd.get(), interest, process, [](auto) {});
    return socket.watch->error();
  }
  static void state(void* data, int fd, int readable, int writable) {
    const auto found = channel(data).sockets_.find(fd);
    PEAL_ASSERT(found != channel(data).sockets_.end(), "c-ares asks for fd {}, which is not its own", fd);
    Socket& socket = found->second;
    const Readiness interest{.readable = readable != 0, .writable = writable != 0};
    // No error can be told here: one that is refused is tried again at the next change, or c-ares' timeouts end the
    // question.
    if (!socket.watch->error()) return socket.watch->set_interest(interest);
    if (interest != Readiness{}) std::ignore = watch(channel(data), socket, interest);
  }
  // Watched from the beginning: c-ares goes on to the next server, or gives up, when it gets no socket.
  static int open(int domain, int type, int protocol, void* data) {
    const int fd = ::socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (fd < 0) return fd;
    Socket socket{Fd(fd), nullptr};
    if (const std::error_code error = watch(channel(data), socket, {.readable = true})) {
      errno = error.value();
      return ARES_SOCKET_BAD;
    }
    const bool is_new = channel(data).sockets_.emplace(fd, std::move(socket)).second;
    PEAL_ASSERT(is_new, "fd {} is open twice", fd);
    return fd;
  }
  static int close(int fd, void* data) {
    auto closed = channel(data).sockets_.extract(fd);
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

ResolverChannel::ResolverChannel(Loop& loop) : loop_(loop), mailbox_(loop.mailbox()) {}

Result<std::unique_ptr<ResolverChannel>> ResolverChannel::make(Loop& loop, const ResolverOptions& options) {
  std::unique_ptr<ResolverChannel> channel(new ResolverChannel(loop));
  Result<void> opened = channel->open(options);
  if (!opened) return std::unexpected(opened.error());
  return channel;
}

Result<void> ResolverChannel::open(const ResolverOptions& options) {
  if (!library_ready()) return fail(ENOMEM);
  char lookups[] = "fb";  // the hosts file first, then DNS
  ares_options wanted{};
  wanted.timeout = milliseconds_of_try(options.try_timeout);
  wanted.tries = options.tries;
  wanted.lookups = lookups;
  wanted.sock_state_cb = &Calls::state;
  wanted.sock_state_cb_data = this;
  const int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;
  if (const int status = ares_init_options(&channel_, &wanted, mask); status != ARES_SUCCESS) {
    return std::unexpected(ares_error(status));
  }
  static constexpr ares_socket_functions kCalls{&Calls::open, &Calls::close, &Calls::connect, &Calls::receive,
                                                &Calls::send};
  ares_set_socket_functions(channel_, &kCalls, this);
  if (options.servers.empty()) return {};
  if (ares_set_servers_ports_csv(channel_, options.servers.c_str()) != ARES_SUCCESS) return fail(Trouble::kBadAddress);
  return {};
}

ResolverChannel::~ResolverChannel() {
  if (Loop* loop = mailbox_->reachable()) loop->cancel(timer_);
  if (channel_ != nullptr) ares_destroy(channel_);
}

void ResolverChannel::ask(const std::string& host, uint16_t port, Answer answer) {
  ++questions_;
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  // Answered exactly once, so the question is not lost.
  auto question = std::make_unique<Question>(Question{*this, port, std::move(answer)});
  ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, &answered, question.release());
  follow_timeouts();
}

void ResolverChannel::answered(void* asked, int status, int, ares_addrinfo* info) {
  const std::unique_ptr<Question> question(static_cast<Question*>(asked));
  --question->channel.questions_;
  Resolver::Addresses addresses;
  for (const auto* node = info == nullptr ? nullptr : info->nodes; node != nullptr; node = node->ai_next) {
    addresses.push_back(SocketAddress::from_kernel(node->ai_addr, node->ai_addrlen));
    if (addresses.back().is_ip()) addresses.back().set_port(question->port);
  }
  ares_freeaddrinfo(info);
  if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED) return;
  if (status == ARES_SUCCESS && addresses.empty()) status = ARES_ENODATA;
  if (status == ARES_SUCCESS) return question->answer(std::move(addresses));
  question->answer(std::unexpected(ares_error(status)));
}

void ResolverChannel::cancel_all() {
  ares_cancel(channel_);
  follow_timeouts();
}

void ResolverChannel::process(int readable_fd, int writable_fd) {
  ares_process_fd(channel_, readable_fd, writable_fd);
  follow_timeouts();
}

void ResolverChannel::follow_timeouts() {
  if (timer_) loop_.cancel(std::exchange(timer_, {}));
  timeval left{};
  if (ares_timeout(channel_, nullptr, &left) == nullptr) return;
  timer_ = loop_.after(std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec), [this] {
    timer_ = {};
    process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  });
}

}  // namespace peal::detail
