// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/address_order.h>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

#include <peal/base/fd.h>

namespace peal::detail {
namespace {

constexpr int kLinkScope = 2;  // RFC 4291 2.7
constexpr int kSiteScope = 5;
constexpr int kGlobalScope = 14;

// Returns an IPv6 address unchanged, and an IPv4 address as an IPv4-mapped IPv6 address.
in6_addr as_ipv6(const SocketAddress& address) {
  if (address.family() == AF_INET6) return reinterpret_cast<const sockaddr_in6*>(address.data())->sin6_addr;
  in6_addr mapped{};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  std::memcpy(&mapped.s6_addr[12], &reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr, sizeof(in_addr));
  return mapped;
}

// Returns the scope of an address by RFC 6724 3.1 and 3.2.
int scope_of(const in6_addr& address) {
  const uint8_t* const bytes = address.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    const bool is_local = bytes[12] == 127 || (bytes[12] == 169 && bytes[13] == 254);
    return is_local ? kLinkScope : kGlobalScope;
  }
  if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_LINKLOCAL(&address)) return kLinkScope;
  return IN6_IS_ADDR_SITELOCAL(&address) ? kSiteScope : kGlobalScope;
}

struct Policy {
  std::array<uint8_t, 16> prefix;
  size_t bits;
  int precedence;
  int label;
};

// The default policy table of RFC 6724 2.1, with the longest prefix first.
constexpr Policy kPolicies[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, 50, 0},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 35, 4},
    {{}, 96, 1, 3},
    {{0x20, 0x01}, 32, 5, 5},
    {{0x20, 0x02}, 16, 30, 2},
    {{0x3f, 0xfe}, 16, 1, 12},
    {{0xfe, 0xc0}, 10, 1, 11},
    {{0xfc}, 7, 3, 13},
    {{}, 0, 40, 1},
};

const Policy& policy_of(const in6_addr& address) {
  return *std::ranges::find_if(kPolicies, [&](const Policy& policy) {
    const size_t whole = policy.bits / 8;
    if (std::memcmp(address.s6_addr, policy.prefix.data(), whole) != 0) return false;
    const unsigned rest = policy.bits % 8;
    return rest == 0 || (address.s6_addr[whole] ^ policy.prefix[whole]) >> (8 - rest) == 0;
  });
}

// Counts the leading bits that two IPv6 addresses have in common, for rule 9 of RFC 6724 6. Returns 0 for IPv4
// addresses, which rule 9 does not cover.
int common_bits(const in6_addr& one, const in6_addr& other) {
  if (IN6_IS_ADDR_V4MAPPED(&one)) return 0;
  int bits = 0;
  for (size_t i = 0; i < sizeof one.s6_addr; ++i) {
    const auto different = static_cast<uint8_t>(one.s6_addr[i] ^ other.s6_addr[i]);
    bits += std::countl_zero(different);
    if (different != 0) break;
  }
  return bits;
}

// The values that decide the order of addresses. They are compared one after the other, and the greater value is
// better. The first value says whether the address can be reached. The other values say how well the address fits the
// source address that the kernel chooses for it (RFC 6724 6).
using Merits = std::tuple<bool, bool, bool, int, int, int>;
Merits merits_of(const SocketAddress& address) {
  const Fd probe(::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const source = reinterpret_cast<sockaddr*>(&storage);
  if (!probe || ::connect(probe.get(), address.data(), address.size()) != 0 ||
      ::getsockname(probe.get(), source, &size) != 0) {
    return {};
  }
  const in6_addr from = as_ipv6(SocketAddress::from_kernel(source, size));
  const in6_addr to = as_ipv6(address);
  return {true,
          scope_of(from) == scope_of(to),
          policy_of(from).label == policy_of(to).label,
          policy_of(to).precedence,
          -scope_of(to),
          common_bits(from, to)};
}

}  // namespace

std::vector<SocketAddress> best_first(std::vector<SocketAddress> addresses) {
  constexpr size_t kMostSorted = 64;
  if (addresses.size() < 2) return addresses;
  const size_t count = std::min(addresses.size(), kMostSorted);
  // The size_t is the position of the address, counted from the end, so that addresses with equal Merits keep their
  // order.
  std::vector<std::pair<Merits, size_t>> order;
  order.reserve(count);
  for (size_t i = 0; i < count; ++i) order.emplace_back(merits_of(addresses[i]), count - i);
  std::ranges::sort(order, std::greater{});
  const std::vector<SocketAddress> as_they_came(addresses.begin(), addresses.begin() + static_cast<ptrdiff_t>(count));
  std::ranges::transform(order, addresses.begin(), [&](const auto& each) { return as_they_came[count - each.second]; });
  return addresses;
}

std::vector<SocketAddress> join_families(std::vector<SocketAddress> first, std::vector<SocketAddress> second) {
  if (!first.empty() && !second.empty() && merits_of(second.front()) > merits_of(first.front())) {
    std::swap(first, second);
  }
  std::ranges::move(second, std::back_inserter(first));
  return first;
}

}  // namespace peal::detail
