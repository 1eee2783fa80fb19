// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/resolver_channel.h>

#include <ares.h>
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <peal/net/parts/address_order.h>

namespace peal::detail {
namespace {

// Converts a timeout to what c-ares accepts: an int of milliseconds, which c-ares doubles for further tries. The result
// is at least 1 ms, because 0 would end each try at once.
int milliseconds_of_try(Duration time) {
  constexpr Duration kMost = std::chrono::minutes(10);
  const Duration taken = std::clamp<Duration>(time, std::chrono::milliseconds(1), kMost);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(taken).count());
}

// Returns the timeout of the first try, divided by `parts`.
Duration part_of_try(const ResolverOptions& options, int parts) {
  return std::chrono::milliseconds(milliseconds_of_try(options.try_timeout)) / parts;
}

bool says_no_address(int status) { return ares_error(status) == Trouble::kHostNotFound; }

// Copies the addresses out of `info`, which may be null, and frees `info`.
Resolver::Addresses take_addresses(ares_addrinfo* info, uint16_t port) {
  Resolver::Addresses addresses;
  for (const auto* node = info == nullptr ? nullptr : info->nodes; node != nullptr; node = node->ai_next) {
    addresses.push_back(SocketAddress::from_kernel(node->ai_addr, node->ai_addrlen));
    if (addresses.back().is_ip()) addresses.back().set_port(port);
  }
  ares_freeaddrinfo(info);
  return addresses;
}

// Returns the greatest number of records that a message of `bytes` can have. A record has at least 16 bytes (RFC 1035
// 4.1.3): two for its name, ten for its other fields, and four for an address.
size_t most_records(int bytes) { return static_cast<size_t>(bytes) / 16 + 1; }

// Reads the addresses of an answer, following aliases. Returns ARES_SUCCESS, or a status that says why c-ares cannot
// read the answer.
int read_ipv4(const unsigned char* message, int size, uint16_t port, Resolver::Addresses& addresses) {
  std::vector<ares_addrttl> records(most_records(size));
  int count = static_cast<int>(records.size());
  if (const int status = ares_parse_a_reply(message, size, nullptr, records.data(), &count); status != ARES_SUCCESS) {
    return status;
  }
  for (const ares_addrttl& record : std::span(records).first(static_cast<size_t>(count))) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr = record.ipaddr;
    addresses.push_back(SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&address), sizeof address));
  }
  return ARES_SUCCESS;
}

int read_ipv6(const unsigned char* message, int size, uint16_t port, Resolver::Addresses& addresses) {
  std::vector<ares_addr6ttl> records(most_records(size));
  int count = static_cast<int>(records.size());
  if (const int status = ares_parse_aaaa_reply(message, size, nullptr, records.data(), &count);
      status != ARES_SUCCESS) {
    return status;
  }
  for (const ares_addr6ttl& record : std::span(records).first(static_cast<size_t>(count))) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    std::memcpy(&address.sin6_addr, &record.ip6addr, sizeof address.sin6_addr);
    addresses.push_back(SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&address), sizeof address));
  }
  return ARES_SUCCESS;
}

int read_answer(int type, const unsigned char* message, int size, uint16_t port, Resolver::Addresses& addresses) {
  return (type == ns_t_a ? read_ipv4 : read_ipv6)(message, size, port, addresses);
}

// Returns whether an answer over UDP is incomplete. That is so in two cases:
// - The TC bit is set (RFC 1035 4.1.1).
// - The answer cannot be read, and has at least the greatest size of a datagram without extensions (RFC 1035 4.2.1).
//   c-ares passes on no more bytes than that.
bool is_cut(int type, const unsigned char* message, int size) {
  if (message == nullptr || size <= 2) return false;
  if ((message[2] & 0x02) != 0) return true;
  Resolver::Addresses ignored;
  return size >= NS_PACKETSZ && read_answer(type, message, size, 0, ignored) == ARES_EBADRESP;
}

}  // namespace

// One name to look up. The name and its variants in the domains of the search list are tried one after the other. For
// each variant two questions are asked, A and AAAA.
struct ResolverChannel::Question {
  ResolverChannel& channel;
  ResolveId id;
  uint16_t port;
  Answer answer;
  std::vector<std::string> names;  // still to be asked; the next one is at the back
  int open = 0;                    // open questions about the name that is asked now
  bool found = false;              // addresses were found
  bool dropped = false;            // the answer is not wanted any more
  // The c-ares status that says why there are no addresses. It begins as "there is no address", and becomes the status
  // of a failure if one of the questions fails.
  int trouble = ARES_ENODATA;
  TimerId slow = {};  // its timer; set while the question is fresh: see kMostFresh
};

// One of the two questions about a name: the question for its A or for its AAAA records.
struct ResolverChannel::Half {
  std::shared_ptr<Question> question;
  std::string name;
  int type;                 // ns_t_a or ns_t_aaaa
  TimePoint asked_at = {};  // when it was asked over TCP
  bool over = false;        // answered over TCP, or given up
  // A channel for TCP that only this question uses. Must be the last member: the destructor of `wire` answers the
  // question, and that answer uses the other members.
  std::unique_ptr<AresWire> wire;
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
    : loop_(loop),
      mailbox_(loop.mailbox()),
      options_(options),
      stamp_(stamp_of(options.resolv_conf)),
      hosts_(loop, [] {}),
      udp_(loop, [this] { ask_waiting(); }) {}

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

Result<void> ResolverChannel::open() {
  std::string order = "f";
  std::string nothing = "/dev/null";
  std::string resolv_conf = options_.resolv_conf;
  ares_options wanted{};
  wanted.timeout = milliseconds_of_try(options_.try_timeout);
  wanted.tries = options_.tries;
  wanted.lookups = order.data();
  wanted.resolvconf_path = nothing.data();
  wanted.flags = ARES_FLAG_IGNTC;  // never use TCP
  const int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF | ARES_OPT_FLAGS;
  if (Result<void> opened = hosts_.open(wanted, mask); !opened) return opened;
  order = "b";
  wanted.resolvconf_path = resolv_conf.data();
  if (Result<void> opened = udp_.open(wanted, mask); !opened) return opened;
  if (Result<void> read = read_search_list(); !read) return read;
  if (options_.servers.empty()) return {};
  if (ares_set_servers_ports_csv(udp_.channel(), options_.servers.c_str()) != ARES_SUCCESS) {
    return fail(Trouble::kBadAddress);
  }
  return {};
}

Result<void> ResolverChannel::read_search_list() {
  ares_options read{};
  int mask = 0;
  const int status = ares_save_options(udp_.channel(), &read, &mask);
  if (status == ARES_SUCCESS) {
    domains_.assign(read.domains, read.domains + read.ndomains);
    dots_ = static_cast<size_t>(std::max(read.ndots, 0));
  }
  ares_destroy_options(&read);
  return status == ARES_SUCCESS ? Result<void>() : std::unexpected(ares_error(status));
}

ResolverChannel::~ResolverChannel() {
  for (const auto& [id, question] : questions_) make_room(*question);
  if (Loop* loop = mailbox_->reachable()) loop->cancel(crowded_);
}

// Returns the names to ask for, by the search list and ndots of resolv.conf(5). The name to ask for first is at the
// back. Each name ends with a dot, so that c-ares does not extend it.
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

void ResolverChannel::ask(ResolveId id, const std::string& host, uint16_t port, Answer answer) {
  Result<Resolver::Addresses> known = find_in_hosts(host, port);
  // "localhost" and the names below it mean the loopback addresses (RFC 6761 6.3), so no name server is asked for them.
  if (!known && is_localhost(host)) {
    known = find_in_hosts("localhost", port);
  } else if (!known) {
    questions_.emplace(id, std::make_shared<Question>(*this, id, port, std::move(answer), names_to_ask(host)));
    waiting_.insert(waiting_.end(), id);
    return ask_waiting();
  }
  answer(std::move(known), false);
}

// Returns the addresses of both families that the hosts file has for `host`. c-ares knows "localhost" even if that file
// does not contain it.
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
  // ares_getaddrinfo() reads the hosts file and calls `keep` before it returns.
  ares_getaddrinfo(hosts_.channel(), std::string(host).c_str(), nullptr, &both, keep, &found);
  if (found.addresses.empty()) return fail(Trouble::kHostNotFound);
  return std::move(found.addresses);
}

// Asks waiting questions until kMostFresh questions are fresh. Must not be called inside c-ares, because this function
// may destroy c-ares channels that belong to single questions.
void ResolverChannel::ask_waiting() {
  while (fresh_ < kMostFresh && !waiting_.empty()) {
    const std::shared_ptr<Question> question = questions_.at(*waiting_.begin());
    waiting_.erase(waiting_.begin());
    ask_fresh(question);
  }
  udp_.rearm_timer();
  ask_waiting_over_tcp();
}

void ResolverChannel::ask_waiting_over_tcp() {
  const Duration slow = part_of_try(options_, 10);
  while (over_tcp_.size() > kMostOverTcp && over_tcp_.front()->wire != nullptr &&
         loop_.now() - over_tcp_.front()->asked_at >= slow) {
    const std::unique_ptr<Half> half = std::move(over_tcp_.front());
    over_tcp_.erase(over_tcp_.begin());
    half->over = true;
    conclude(*half, ARES_ETIMEOUT, nullptr, 0);
  }
  for (size_t i = 0; i < std::min(over_tcp_.size(), kMostOverTcp);) {
    Half& half = *over_tcp_[i];
    if (half.wire == nullptr) ask_over_tcp(half);
    if (!half.over) {
      ++i;
      continue;
    }
    over_tcp_.erase(over_tcp_.begin() + static_cast<ptrdiff_t>(i));
  }
  if (over_tcp_.size() <= kMostOverTcp || crowded_) return;
  crowded_ = loop_.after(later(over_tcp_.front()->asked_at, slow) - loop_.now(), [this] {
    crowded_ = {};
    ask_waiting();
  });
}

void ResolverChannel::ask_fresh(const std::shared_ptr<Question>& question) {
  ++fresh_;
  question->slow = loop_.after(part_of_try(options_, 20), [this, &question = *question] {
    make_room(question);
    ask_waiting();
  });
  ask_next(question);
}

// Must be called when a question was answered, or had no answer for a twentieth of try_timeout. The question then no
// longer counts as fresh (kMostFresh), so that a waiting question can be asked.
void ResolverChannel::make_room(Question& question) {
  if (!question.slow) return;
  --fresh_;
  if (Loop* loop = mailbox_->reachable()) loop->cancel(question.slow);
  question.slow = {};
}

// Asks for the AAAA and the A records of the question's next name, in this order (RFC 8305 3).
void ResolverChannel::ask_next(const std::shared_ptr<Question>& question) {
  const std::string name = std::move(question->names.back());
  question->names.pop_back();
  question->open = 2;
  for (const int type : {ns_t_aaaa, ns_t_a}) {
    // c-ares calls answered() exactly once for each query, and answered() frees the Half.
    auto half = std::make_unique<Half>(question, name, type);
    ares_query(udp_.channel(), name.c_str(), ns_c_in, type, &answered, half.release());
  }
}

void ResolverChannel::ask_over_tcp(Half& half) {
  half.asked_at = loop_.now();
  half.wire = std::make_unique<AresWire>(loop_, [this] { ask_waiting(); });
  const Result<void> opened = half.wire->open_like(udp_, ARES_FLAG_USEVC);
  if (!opened) return answered_over_tcp(&half, ARES_ENOMEM, 0, nullptr, 0);
  ares_query(half.wire->channel(), half.name.c_str(), ns_c_in, half.type, &answered_over_tcp, &half);
  half.wire->rearm_timer();
}

void ResolverChannel::answered(void* of, int status, int, unsigned char* message, int size) {
  std::unique_ptr<Half> half(static_cast<Half*>(of));
  Question& question = *half->question;
  if (!is_cut(half->type, message, size) || question.dropped) return conclude(*half, status, message, size);
  question.channel.over_tcp_.push_back(std::move(half));
}

void ResolverChannel::answered_over_tcp(void* of, int status, int, unsigned char* message, int size) {
  Half& half = *static_cast<Half*>(of);
  if (std::exchange(half.over, true)) return;
  conclude(half, status, message, size);
}

// Handles the end of one of the two questions about a name. `message` is the answer. If there is no answer, `status`
// says why. Mostly called inside c-ares.
void ResolverChannel::conclude(const Half& half, int status, unsigned char* message, int size) {
  const std::shared_ptr<Question> kept = half.question;
  Question& question = *kept;
  ResolverChannel& channel = question.channel;
  Resolver::Addresses addresses;
  if (status == ARES_SUCCESS) {
    status = read_answer(half.type, message, size, question.port, addresses);
  }
  const bool more = --question.open > 0;
  const bool dropped = question.dropped || status == ARES_EDESTRUCTION || status == ARES_ECANCELLED;
  if (status != ARES_SUCCESS && !says_no_address(status)) question.trouble = status;
  question.found = question.found || !addresses.empty();
  const bool nowhere = !more && !dropped && !question.found && says_no_address(question.trouble);
  if (nowhere && !question.names.empty()) return channel.ask_next(kept);
  if (!more) {
    channel.make_room(question);
    channel.questions_.erase(question.id);
  }
  if (dropped) return;
  if (!addresses.empty()) return question.answer(best_first(std::move(addresses)), more);
  if (!more) question.answer(std::unexpected(ares_error(question.trouble)), false);
}

void ResolverChannel::drop(ResolveId id) {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return;
  const std::shared_ptr<Question> question = found->second;
  question->dropped = true;
  if (waiting_.erase(id) != 0) {
    questions_.erase(found);
    return;
  }
  take_back(question.get());
  ask_waiting();
}

void ResolverChannel::cancel_all() {
  for (const ResolveId id : waiting_) questions_.erase(id);
  waiting_.clear();
  take_back(nullptr);
  ares_cancel(udp_.channel());
  udp_.rearm_timer();
}

void ResolverChannel::take_back(const Question* question) {
  std::erase_if(over_tcp_, [&](const std::unique_ptr<Half>& half) {
    if (question != nullptr && half->question.get() != question) return false;
    if (half->wire == nullptr) conclude(*half, ARES_ECANCELLED, nullptr, 0);
    half->wire.reset();
    return true;
  });
}

}  // namespace peal::detail
