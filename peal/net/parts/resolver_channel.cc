// SPDX-License-Identifier: BSD-3-Clause
// c-ares closes a socket inside its calls, but a watched fd must stay open until on_unwatched. So it gets its sockets
// from here (ares_set_socket_functions(3)): one that it closes lives on until the engine lets go of it. It also spares
// the process the SIGPIPE of a name server that hangs up on TCP.
#include <peal/net/parts/resolver_channel.h>

#include <ares.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

bool says_no_address(int status) { return ares_error(status) == Trouble::kHostNotFound; }

// Frees `info`, which may be null.
Resolver::Addresses take_addresses(ares_addrinfo* info, uint16_t port) {
  Resolver::Addresses addresses;
  for (const auto* node = info == nullptr ? nullptr : info->nodes; node != nullptr; node = node->ai_next) {
    addresses.push_back(SocketAddress::from_kernel(node->ai_addr, node->ai_addrlen));
    if (addresses.back().is_ip()) addresses.back().set_port(port);
  }
  ares_freeaddrinfo(info);
  return addresses;
}

}  // namespace

// One name: the two questions about it, and its names in the domains of the search list, tried in turn.
struct ResolverChannel::Question {
  ResolverChannel& channel;
  uint16_t port;
  Answer answer;
  std::vector<std::string> names;  // the next one is at the back
  int open = 0;                    // questions about the name that is asked now
  bool found = false;              // it has addresses
  int trouble = ARES_ENODATA;      // why it has none; "ask again" matters more than "there is none"
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

ResolverChannel::FileStamp ResolverChannel::stamp_of(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {static_cast<int64_t>(facts.st_dev),
          static_cast<int64_t>(facts.st_ino),
          facts.st_size,
          facts.st_mtim.tv_sec,
          facts.st_mtim.tv_nsec,
          facts.st_ctim.tv_sec,
          facts.st_ctim.tv_nsec};
}

ResolverChannel::ResolverChannel(Loop& loop, const ResolverOptions& options)
    : loop_(loop), mailbox_(loop.mailbox()), options_(options), stamp_(stamp_of(options.resolv_conf)) {}

Result<std::unique_ptr<ResolverChannel>> ResolverChannel::make(Loop& loop, const ResolverOptions& options) {
  std::unique_ptr<ResolverChannel> channel(new ResolverChannel(loop, options));
  Result<void> opened = channel->open();
  if (!opened) return std::unexpected(opened.error());
  return channel;
}

bool ResolverChannel::is_outdated() const {
  const FileStamp now = stamp_of(options_.resolv_conf);
  return now != FileStamp{} && now != stamp_;
}

Result<ares_channeldata*> ResolverChannel::make_channel(const char* lookups, std::string resolv_conf) {
  std::string order(lookups);
  ares_options wanted{};
  wanted.timeout = milliseconds_of_try(options_.try_timeout);
  wanted.tries = options_.tries;
  wanted.lookups = order.data();
  wanted.sock_state_cb = &Calls::state;
  wanted.sock_state_cb_data = this;
  wanted.resolvconf_path = resolv_conf.data();
  const int mask =
      ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB | ARES_OPT_RESOLVCONF;
  ares_channeldata* channel = nullptr;
  if (const int status = ares_init_options(&channel, &wanted, mask); status != ARES_SUCCESS) {
    return std::unexpected(ares_error(status));
  }
  static constexpr ares_socket_functions kCalls{&Calls::open, &Calls::close, &Calls::connect, &Calls::receive,
                                                &Calls::send};
  ares_set_socket_functions(channel, &kCalls, this);
  return channel;
}

Result<void> ResolverChannel::open() {
  if (!library_ready()) return fail(ENOMEM);
  const Result<ares_channeldata*> hosts = make_channel("f", "/dev/null");
  if (!hosts) return std::unexpected(hosts.error());
  hosts_ = *hosts;
  const Result<ares_channeldata*> channel = make_channel("b", options_.resolv_conf);
  if (!channel) return std::unexpected(channel.error());
  channel_ = *channel;
  if (Result<void> read = read_search_list(); !read) return read;
  if (options_.servers.empty()) return {};
  if (ares_set_servers_ports_csv(channel_, options_.servers.c_str()) != ARES_SUCCESS) {
    return fail(Trouble::kBadAddress);
  }
  return {};
}

Result<void> ResolverChannel::read_search_list() {
  ares_options read{};
  int mask = 0;
  const int status = ares_save_options(channel_, &read, &mask);
  if (status == ARES_SUCCESS) {
    domains_.assign(read.domains, read.domains + read.ndomains);
    dots_ = static_cast<size_t>(std::max(read.ndots, 0));
  }
  ares_destroy_options(&read);
  return status == ARES_SUCCESS ? Result<void>() : std::unexpected(ares_error(status));
}

ResolverChannel::~ResolverChannel() {
  if (Loop* loop = mailbox_->reachable()) loop->cancel(timer_);
  if (channel_ != nullptr) ares_destroy(channel_);
  if (hosts_ != nullptr) ares_destroy(hosts_);
}

// resolv.conf(5), search and ndots. What ends with a dot is asked as it is: here all do.
std::vector<std::string> ResolverChannel::names_to_ask(const std::string& host) const {
  if (host.ends_with('.')) return {host};
  const std::string absolute = host + ".";
  const bool first = static_cast<size_t>(std::ranges::count(host, '.')) >= dots_;
  std::vector<std::string> names;
  if (first) names.push_back(absolute);
  for (const std::string& domain : domains_) {
    std::string name = absolute + domain + (domain.ends_with('.') ? "" : ".");
    if (is_host_name(name)) names.push_back(std::move(name));
  }
  if (!first) names.push_back(absolute);
  std::ranges::reverse(names);
  return names;
}

void ResolverChannel::ask(const std::string& host, uint16_t port, Answer answer) {
  Result<Resolver::Addresses> known = find_in_hosts(host, port);
  // RFC 6761 6.3: every such name is the loopback, and no name server is asked for it.
  if (!known && is_localhost(host)) {
    known = find_in_hosts("localhost", port);
  } else if (!known) {
    ++questions_;
    ask_next(std::make_shared<Question>(*this, port, std::move(answer), names_to_ask(host)));
    return follow_timeouts();
  }
  answer(std::move(known), false);
}

// Both families at once. c-ares knows "localhost" even where the hosts file does not.
Result<Resolver::Addresses> ResolverChannel::find_in_hosts(std::string_view host, uint16_t port) {
  if (host.ends_with('.')) host.remove_suffix(1);
  struct Found {
    uint16_t port;
    Resolver::Addresses addresses;
  } found{port, {}};
  auto keep = [](void* into, int, int, ares_addrinfo* info) {
    auto& kept = *static_cast<Found*>(into);
    kept.addresses = take_addresses(info, kept.port);
  };
  const ares_addrinfo_hints both{.ai_flags = 0, .ai_family = AF_UNSPEC, .ai_socktype = 0, .ai_protocol = 0};
  ares_getaddrinfo(hosts_, std::string(host).c_str(), nullptr, &both, keep, &found);  // returns with the answer given
  if (found.addresses.empty()) return fail(Trouble::kHostNotFound);
  return std::move(found.addresses);
}

// AAAA first (RFC 8305 3).
void ResolverChannel::ask_next(const std::shared_ptr<Question>& question) {
  const std::string name = std::move(question->names.back());
  question->names.pop_back();
  question->open = 2;
  for (const int family : {AF_INET6, AF_INET}) {
    const ares_addrinfo_hints hints{.ai_flags = 0, .ai_family = family, .ai_socktype = 0, .ai_protocol = 0};
    // answered() comes exactly once, so this is not lost.
    auto half = std::make_unique<std::shared_ptr<Question>>(question);
    ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, &answered, half.release());
  }
}

void ResolverChannel::answered(void* half, int status, int, ares_addrinfo* info) {
  const std::unique_ptr<std::shared_ptr<Question>> owned(static_cast<std::shared_ptr<Question>*>(half));
  Question& question = **owned;
  Resolver::Addresses addresses = take_addresses(info, question.port);
  const bool more = --question.open > 0;
  const bool dropped = status == ARES_EDESTRUCTION || status == ARES_ECANCELLED;
  if (status != ARES_SUCCESS && !says_no_address(status)) question.trouble = status;
  question.found = question.found || !addresses.empty();
  const bool nowhere = !more && !dropped && !question.found && says_no_address(question.trouble);
  if (nowhere && !question.names.empty()) return question.channel.ask_next(*owned);
  if (!more) --question.channel.questions_;
  if (dropped) return;
  if (!addresses.empty()) return question.answer(std::move(addresses), more);
  if (!more) question.answer(std::unexpected(ares_error(question.trouble)), false);
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
