// SPDX-License-Identifier: BSD-3-Clause
// parse() is strict and refuses every text that is not exactly one address, so that no text is taken for an address
// that its author did not mean.
#include <peal/base/socket_address.h>

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>

#include <peal/base/ascii.h>
#include <peal/base/bad_value.h>

namespace peal {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kNameChars = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
constexpr size_t kPathOffset = offsetof(sockaddr_un, sun_path);
constexpr size_t kMostPathBytes = sizeof(sockaddr_un::sun_path) - 1;

// Reads a decimal number. Returns nullopt if the text has a sign, a blank or any other character, or if the number does
// not fit. A leading zero is refused too, because other programs read such a number as octal.
template <class Number>
std::optional<Number> parse_decimal(std::string_view text) {
  Number value = 0;
  if (text.empty() || (text.front() == '0' && text.size() > 1)) return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Reads a numeric host with inet_pton(3), which takes a C string. A text with a NUL is refused, because inet_pton(3)
// would ignore the bytes after the NUL.
bool parse_host(int family, std::string_view text, void* into) {
  return text.find('\0') == text.npos && ::inet_pton(family, std::string(text).c_str(), into) == 1;
}

// True if an address may have a zone such as "%eth0": a link-local address, or a multicast address of link-local or
// node-local scope. For other addresses a zone has no meaning (RFC 4007 5).
bool takes_scope(const in6_addr& address) {
  return IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MC_LINKLOCAL(&address) || IN6_IS_ADDR_MC_NODELOCAL(&address);
}

// Returns the scope id for a zone. A number is returned as it is, without a check that such an interface exists. A name
// gives the number of the interface with this name, or 0 if there is none.
uint32_t parse_scope(std::string_view text) {
  if (auto number = parse_decimal<uint32_t>(text)) return *number;
  if (text.size() >= IF_NAMESIZE || text.find('\0') != text.npos) return 0;
  return ::if_nametoindex(std::string(text).c_str());
}

// Returns the name of the interface with this number, or the number as text if the interface has no name.
std::string scope_text(uint32_t scope) {
  std::array<char, IF_NAMESIZE> name{};
  return ::if_indextoname(scope, name.data()) != nullptr ? name.data() : std::to_string(scope);
}

// Cuts the separator and the port off the end of `text`, which is "host:port", or "host]:port" with the separator "]:".
// Returns the port in network byte order.
Result<in_port_t> cut_port(std::string_view& text, std::string_view separator) {
  const size_t at = text.rfind(separator);
  const std::string_view digits = at == text.npos ? "" : text.substr(at + separator.size());
  if (digits.empty()) return fail(Trouble::kNoPort);
  const auto port = parse_decimal<uint16_t>(digits);
  if (!port) return fail(Trouble::kBadPort);
  text = text.substr(0, at);
  return htons(*port);
}

// True for ":8080" and "8080".
bool is_port_alone(std::string_view text) {
  return parse_decimal<uint16_t>(text.starts_with(':') ? text.substr(1) : text).has_value();
}

Result<socklen_t> parse_v4(std::string_view text, sockaddr_in& address) {
  if (is_port_alone(text)) return fail(Trouble::kNoHost);
  const auto port = cut_port(text, ":");
  if (!port) return std::unexpected(port.error());
  address = {.sin_family = AF_INET, .sin_port = *port, .sin_addr = {}, .sin_zero = {}};
  if (parse_host(AF_INET, text, &address.sin_addr)) return sizeof(address);
  return fail(is_host_name(text) ? Trouble::kNameNotAddress : Trouble::kBadAddress);
}

Result<socklen_t> parse_v6(std::string_view text, sockaddr_in6& address) {
  if (!text.contains(']')) return fail(Trouble::kBadAddress);
  const auto port = cut_port(text, "]:");
  if (!port) return std::unexpected(port.error());
  address = {.sin6_family = AF_INET6, .sin6_port = *port, .sin6_flowinfo = 0, .sin6_addr = {}, .sin6_scope_id = 0};
  const size_t percent = text.find('%');
  bool good = parse_host(AF_INET6, text.substr(0, percent), &address.sin6_addr);
  if (percent != text.npos) {
    address.sin6_scope_id = parse_scope(text.substr(percent + 1));
    good = good && address.sin6_scope_id != 0 && takes_scope(address.sin6_addr);
  }
  if (!good) return fail(Trouble::kBadAddress);
  return sizeof(address);
}

// Reads the part after "unix:" and returns the size of the address for system calls. The size includes one NUL, which
// stands after a path or before an abstract name.
Result<socklen_t> parse_unix(std::string_view path, sockaddr_un& address) {
  bool abstract = path.starts_with('@');
  if (abstract) path.remove_prefix(1);
  if (path.empty() || (!abstract && path.find('\0') != path.npos)) return fail(Trouble::kBadAddress);
  if (path.size() > kMostPathBytes) return fail(Trouble::kPathTooLong);
  address = {};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path, address.sun_path + (abstract ? 1 : 0));
  return static_cast<socklen_t>(kPathOffset + path.size() + 1);
}

}  // namespace

bool is_host_name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || text.size() > 253) return false;
  std::string_view last;
  for (size_t begin = 0; begin <= text.size(); begin += last.size() + 1) {
    last = text.substr(begin, text.find('.', begin) - begin);
    if (last.empty() || last.size() > 63 || last.find_first_not_of(kNameChars) != last.npos) return false;
  }
  return last.find_first_not_of("0123456789") != last.npos;
}

bool is_localhost(std::string_view host) {
  constexpr std::string_view kLocal = "localhost";
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.size() < kLocal.size()) return false;
  const std::string_view domain = host.substr(host.size() - kLocal.size());
  const bool is_whole = host.size() == domain.size() || host[host.size() - domain.size() - 1] == '.';
  return is_whole && to_lower(domain) == kLocal;
}

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
  SocketAddress address;
  const auto size = text.starts_with(kUnixPrefix) ? parse_unix(text.substr(kUnixPrefix.size()), address.storage_.local)
                    : text.starts_with('[')       ? parse_v6(text.substr(1), address.storage_.v6)
                                                  : parse_v4(text, address.storage_.v4);
  if (!size) return std::unexpected(size.error());
  address.size_ = *size;
  return address;
}

SocketAddress SocketAddress::from_kernel(const sockaddr* address, socklen_t size) {
  SocketAddress result;
  if (address == nullptr || size < sizeof(sa_family_t)) return result;
  size_t wanted = 0;
  switch (address->sa_family) {
    case AF_INET: wanted = sizeof(sockaddr_in); break;
    case AF_INET6: wanted = sizeof(sockaddr_in6); break;
    // A path of 108 bytes leaves no room for a NUL, but the size that getsockname(2) returns counts a NUL nevertheless
    // (unix(7), BUGS).
    case AF_UNIX: wanted = std::min<size_t>(size, sizeof(sockaddr_un)); break;
    default: return result;
  }
  if (size < wanted) return result;
  std::memcpy(&result.storage_, address, wanted);
  result.size_ = static_cast<socklen_t>(wanted);
  // operator== compares bytes, so the fields that are no part of the address are cleared: the padding and the IPv6 flow
  // label.
  if (address->sa_family == AF_INET) std::ranges::fill(result.storage_.v4.sin_zero, 0);
  if (address->sa_family == AF_INET6) result.storage_.v6.sin6_flowinfo = 0;
  // The size from the kernel may or may not count the NUL after a path. Here the size is set so that it counts the NUL,
  // because equal paths must be equal addresses.
  if (auto path = result.unix_path(); !path.empty()) {
    result.size_ = static_cast<socklen_t>(kPathOffset + std::min(path.size(), kMostPathBytes) + 1);
  }
  return result;
}

uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(storage_.v4.sin_port);
  if (family() == AF_INET6) return ntohs(storage_.v6.sin6_port);
  return 0;
}

void SocketAddress::set_port(uint16_t port) {
  if (!is_ip()) throw_bad_value("cannot set port {} on \"{}\", which is not an IP address", port, to_string());
  if (family() == AF_INET) {
    storage_.v4.sin_port = htons(port);
  } else {
    storage_.v6.sin6_port = htons(port);
  }
}

std::string_view SocketAddress::unix_path() const {
  if (!is_unix() || size_ <= kPathOffset) return {};
  return {storage_.local.sun_path, ::strnlen(storage_.local.sun_path, size_ - kPathOffset)};
}

SocketAddress::ClientKey SocketAddress::client_key() const {
  ClientKey key{};
  const bool mapped = family() == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&storage_.v6.sin6_addr);
  if (family() == AF_INET || mapped) {
    key[0] = '4';
    std::memcpy(&key[1], mapped ? &storage_.v6.sin6_addr.s6_addr[12] : static_cast<const void*>(&storage_.v4.sin_addr),
                4);
  } else if (family() == AF_INET6) {
    key[0] = '6';
    std::memcpy(&key[1], &storage_.v6.sin6_addr, 8);
  }
  return key;
}

std::string SocketAddress::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (family() == AF_INET) {
    ::inet_ntop(AF_INET, &storage_.v4.sin_addr, host.data(), host.size());
    return std::string(host.data()) + ":" + std::to_string(port());
  }
  if (family() == AF_INET6) {
    ::inet_ntop(AF_INET6, &storage_.v6.sin6_addr, host.data(), host.size());
    uint32_t scope = storage_.v6.sin6_scope_id;
    return "[" + std::string(host.data()) + (scope == 0 ? "" : "%" + scope_text(scope)) + "]:" + std::to_string(port());
  }
  if (!is_unix()) return {};
  std::string text(kUnixPrefix);
  if (auto path = unix_path(); !path.empty()) {
    // A relative path that begins with '@' gets "./" in front, because "unix:@file" would mean an abstract name.
    return text + (path.starts_with('@') ? "./" : "") + std::string(path);
  }
  if (size_ > kPathOffset) text.append("@").append(storage_.local.sun_path + 1, size_ - kPathOffset - 1);
  return text;
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  return size_ == other.size_ && std::memcmp(&storage_, &other.storage_, size_) == 0;
}

}  // namespace peal
