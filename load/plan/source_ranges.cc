// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/source_ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ranges>
#include <span>

#include <fmt/format.h>

#include <peal/base/assert.h>
#include <peal/wire/parse_text.h>

namespace peal::load {
namespace {

constexpr unsigned kByteBits = 8;
constexpr unsigned kMostHostBits = 16;  // a block with this many host bits has kMostSources addresses
static_assert(kMostSources == size_t{1} << kMostHostBits);

// An IP address. It is stored as a sockaddr, which is the form that socket functions use. bytes() returns the bytes of
// the address, the most significant byte first.
class HostAddress {
 public:
  static std::optional<HostAddress> parse(std::string_view text) {
    const bool v6 = text.find(':') != text.npos;
    const Result<SocketAddress> address =
        SocketAddress::parse(v6 ? fmt::format("[{}]:0", text) : fmt::format("{}:0", text));
    if (!address || !address->is_ip()) return std::nullopt;
    HostAddress host;
    std::memcpy(&host.kernel_, address->data(), address->size());
    return host;
  }

  SocketAddress address() const {
    return SocketAddress::from_kernel(&kernel_.any, is_v6() ? sizeof kernel_.v6 : sizeof kernel_.v4);
  }
  bool is_v6() const { return kernel_.any.sa_family == AF_INET6; }
  std::span<uint8_t> bytes() {
    if (is_v6()) return kernel_.v6.sin6_addr.s6_addr;
    return {reinterpret_cast<uint8_t*>(&kernel_.v4.sin_addr), sizeof kernel_.v4.sin_addr};
  }
  // Changes this address to the next higher one. The highest address changes to the lowest, whose bytes are all 0.
  void increment() {
    for (uint8_t& byte : bytes() | std::views::reverse) {
      if (++byte != 0) return;
    }
  }
  std::string to_string() const {
    std::string text = address().to_string();
    text.resize(text.size() - std::string_view(":0").size());
    return is_v6() ? text.substr(1, text.size() - 2) : text;
  }

 private:
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } kernel_{};
};

struct HostRange {
  HostAddress first;
  HostAddress last;
};

using ParsedRange = std::expected<HostRange, std::string>;

std::unexpected<std::string> refuse_range(std::string_view word, std::string_view why) {
  return std::unexpected(fmt::format("--source-addresses: '{}' {}", word, why));
}

std::string no_address(std::string_view text) { return fmt::format("has '{}', which is not a numeric address", text); }

ParsedRange parse_block(std::string_view word, size_t slash) {
  std::optional<HostAddress> base = HostAddress::parse(word.substr(0, slash));
  if (!base) return refuse_range(word, no_address(word.substr(0, slash)));
  const std::string_view digits = word.substr(slash + 1);
  const auto width = static_cast<unsigned>(base->bytes().size()) * kByteBits;
  const auto prefix = parse_text<unsigned>(digits);
  if (!prefix || *prefix > width) {
    return refuse_range(word, fmt::format("has a prefix of '{}', which is not a number from 0 to {}", digits, width));
  }
  if (width - *prefix > kMostHostBits)
    return refuse_range(word, fmt::format("has more than {} addresses", kMostSources));
  HostRange block{*base, *base};
  for (unsigned bit = *prefix; bit < width; ++bit) {
    const auto mask = static_cast<uint8_t>(1U << (kByteBits - 1 - bit % kByteBits));
    block.first.bytes()[bit / kByteBits] &= static_cast<uint8_t>(~mask);
    block.last.bytes()[bit / kByteBits] |= mask;
  }
  if (!std::ranges::equal(block.first.bytes(), base->bytes())) {
    return refuse_range(word, fmt::format("is not a block: the block begins at {}", block.first.to_string()));
  }
  return block;
}

ParsedRange parse_range(std::string_view word) {
  // If `word` has a '%', it is a single address with a zone, such as fe80::1%eth0. The zone is the name of a network
  // interface. This name may contain '/' and '-'. Therefore, '/' and '-' do not mark a block or a range if `word` has a
  // '%'.
  const bool single = word.find('%') != word.npos;
  if (const size_t slash = word.find('/'); !single && slash != word.npos) return parse_block(word, slash);
  const size_t dash = single ? word.npos : word.find('-');
  std::optional<HostAddress> first = HostAddress::parse(word.substr(0, dash));
  if (!first)
    return refuse_range(word, dash == word.npos ? "is not a numeric address" : no_address(word.substr(0, dash)));
  if (dash == word.npos) return HostRange{*first, *first};
  std::optional<HostAddress> last = HostAddress::parse(word.substr(dash + 1));
  if (!last) return refuse_range(word, no_address(word.substr(dash + 1)));
  if (first->is_v6() != last->is_v6()) return refuse_range(word, "goes from one address family to the other");
  if (std::ranges::lexicographical_compare(last->bytes(), first->bytes())) return refuse_range(word, "goes backwards");
  return HostRange{*first, *last};
}

}  // namespace

std::expected<std::vector<SocketAddress>, std::string> parse_source_ranges(std::string_view text) {
  std::vector<SocketAddress> sources;
  for (std::string_view left = text;;) {
    const size_t comma = left.find(',');
    const std::string_view word = left.substr(0, comma);
    ParsedRange range = parse_range(word);
    if (!range) return std::unexpected(std::move(range.error()));
    for (HostAddress host = range->first;; host.increment()) {
      if (sources.size() == kMostSources) {
        return std::unexpected(fmt::format("--source-addresses: there are more than {} addresses", kMostSources));
      }
      sources.push_back(host.address());
      if (std::ranges::equal(host.bytes(), range->last.bytes())) break;
    }
    if (comma == left.npos) return sources;
    left.remove_prefix(comma + 1);
  }
}

}  // namespace peal::load
