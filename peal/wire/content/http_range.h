// SPDX-License-Identifier: BSD-3-Clause
// Byte ranges (RFC 9110 14): which parts of a representation a Range field asks for, and the Content-Range of each.
// Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace peal {

// Part of a representation; at least one byte.
struct HttpByteRange {
  uint64_t first = 0;
  uint64_t bytes = 0;

  uint64_t last() const { return first + bytes - 1; }
  bool operator==(const HttpByteRange&) const = default;
};

// How many ranges one request may ask for. Readers of PDF ask for a handful; a hundred tiny ones are an attack on
// whoever builds the parts (CVE-2011-3192).
inline constexpr size_t kHttpRangesMax = 16;

class HttpRanges {
 public:
  enum class Answer : uint8_t {
    kWhole,          // 200: there is no range to honour
    kPartial,        // 206: all(), in the order asked for, each inside the representation
    kUnsatisfiable,  // 416, with a Content-Range of the total alone
  };

  // The value of a Range field for a representation of `total_bytes`. The whole is also the answer to what may be
  // ignored (RFC 9110 14.2): another unit, a malformed set, more than kHttpRangesMax ranges, or ranges that together
  // are longer than the whole. Of a set in which some ranges lie outside, those inside are the answer.
  Answer read(std::string_view value, uint64_t total_bytes);
  std::span<const HttpByteRange> all() const { return {ranges_.data(), count_}; }

 private:
  std::array<HttpByteRange, kHttpRangesMax> ranges_;
  size_t count_ = 0;
};

// The value of a Content-Range field: "bytes 42-1233/1234".
std::string http_content_range(const HttpByteRange& range, uint64_t total_bytes);
// The same for 416: "bytes */1234".
std::string http_content_range(uint64_t total_bytes);

// What a Content-Range field says (RFC 9110 14.4).
struct HttpContentRangeParts {
  std::optional<HttpByteRange> range;  // none: an answer 416, "bytes */1234"
  std::optional<uint64_t> total_bytes;
};

// Nothing where it is malformed: another unit, a range that ends before it begins or beyond the total, neither a range
// nor a total, a number beyond 64 bits.
std::optional<HttpContentRangeParts> parse_http_content_range(std::string_view value);

}  // namespace peal
