// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/http_range.h>

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

// Reads a number of at least one digit. A number that does not fit 64 bits is read as the largest that fits, which lies
// beyond the end of any representation. Returns nullopt if the text is not a number.
std::optional<uint64_t> read_position(std::string_view text) {
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (const char byte : text) {
    if (!detail::is_digit(byte)) return std::nullopt;
    if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<uint64_t>(byte - '0'), &value)) {
      value = std::numeric_limits<uint64_t>::max();  // a further digit overflows again
    }
  }
  return value;
}

// Reads one range: range-spec = int-range / suffix-range (RFC 9110 14.1.2). `total` is the length of the
// representation. Returns a range of 0 bytes if the range lies outside the representation, and nullopt if the text is
// malformed.
std::optional<HttpByteRange> read_range(std::string_view spec, uint64_t total) {
  const size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view after = spec.substr(dash + 1);
  const auto last = read_position(after);
  if (!last && !after.empty()) return std::nullopt;
  if (dash == 0) {
    if (!last) return std::nullopt;
    const uint64_t bytes = std::min(*last, total);
    return HttpByteRange{total - bytes, bytes};
  }
  const auto first = read_position(spec.substr(0, dash));
  if (!first || (last && *last < *first)) return std::nullopt;
  if (*first >= total) return HttpByteRange{};
  return HttpByteRange{*first, (last ? std::min(*last, total - 1) : total - 1) - *first + 1};
}

}  // namespace

HttpRanges::Answer HttpRanges::read(std::string_view value, uint64_t total_bytes) {
  count_ = 0;
  const size_t equals = value.find('=');
  if (equals == std::string_view::npos || !detail::equals_lower(value.substr(0, equals), "bytes")) {
    return Answer::kWhole;
  }
  std::string_view set = value.substr(equals + 1);
  bool any = false;
  uint64_t together = 0;
  for (std::string_view spec; detail::next_element(set, spec); any = true) {
    const auto range = read_range(spec, total_bytes);
    if (!range) return Answer::kWhole;
    if (range->bytes == 0) continue;
    together += range->bytes;
    if (count_ == kHttpRangesMax || together > total_bytes) return Answer::kWhole;
    ranges_[count_++] = *range;
  }
  // An empty representation has no part that a Content-Range could name, so the client gets all of it.
  if (!any || total_bytes == 0) return Answer::kWhole;
  return count_ > 0 ? Answer::kPartial : Answer::kUnsatisfiable;
}

std::string http_content_range(const HttpByteRange& range, uint64_t total_bytes) {
  return fmt::format("bytes {}-{}/{}", range.first, range.last(), total_bytes);
}

std::string http_content_range(uint64_t total_bytes) { return fmt::format("bytes */{}", total_bytes); }

std::optional<HttpContentRangeParts> parse_http_content_range(std::string_view value) {
  constexpr std::string_view kUnit = "bytes ";
  constexpr uint64_t kTooMuch = std::numeric_limits<uint64_t>::max();
  const size_t slash = value.find('/');
  if (!detail::equals_lower(value.substr(0, kUnit.size()), kUnit) || slash == value.npos || slash < kUnit.size()) {
    return std::nullopt;
  }
  const std::string_view range = value.substr(kUnit.size(), slash - kUnit.size());
  const std::string_view total = value.substr(slash + 1);
  HttpContentRangeParts parts;
  if (total != "*") {
    parts.total_bytes = read_position(total);
    if (!parts.total_bytes || *parts.total_bytes == kTooMuch) return std::nullopt;
  }
  if (range == "*") {
    return parts.total_bytes ? std::optional(parts) : std::nullopt;
  }
  const size_t dash = std::min(range.find('-'), range.size());
  const auto first = read_position(range.substr(0, dash));
  const auto last = read_position(range.substr(std::min(dash + 1, range.size())));
  if (!first || !last || *last < *first || *last >= parts.total_bytes.value_or(kTooMuch)) return std::nullopt;
  parts.range = HttpByteRange{*first, *last - *first + 1};
  return parts;
}

}  // namespace peal
