// SPDX-License-Identifier: BSD-3-Clause
// Byte ranges (RFC 9110 14). HttpRanges reads a Range field; http_content_range() writes and parse_http_content_range()
// reads a Content-Range field. No I/O. The functions may be called on any thread, an HttpRanges by one thread at a
// time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace peal {

// Part of a representation. A range that HttpRanges or parse_http_content_range() returns has at least one byte.
struct HttpByteRange {
  uint64_t first = 0;  // the offset of the first byte
  uint64_t bytes = 0;

  // Returns the offset of the last byte.
  uint64_t last() const { return first + bytes - 1; }
  bool operator==(const HttpByteRange&) const = default;
};

// The most ranges of one request that are served. PDF viewers ask for a handful. A request with a hundred tiny ranges
// is an attack on the server, which has to build all the parts (CVE-2011-3192).
inline constexpr size_t kHttpRangesMax = 16;

class HttpRanges {
 public:
  enum class Answer : uint8_t {
    kWhole,          // answer 200 with the whole representation
    kPartial,        // answer 206 with the ranges of all()
    kUnsatisfiable,  // answer 416 with the Content-Range of http_content_range(total_bytes)
  };

  // Reads the value of a Range field for a representation of `total_bytes`. A server may ignore a Range field (RFC 9110
  // 14.2), so read() returns kWhole for these:
  // - a unit other than "bytes",
  // - a malformed list of ranges,
  // - more than kHttpRangesMax ranges, without those that are dropped,
  // - ranges that together are longer than the representation,
  // - an empty representation.
  //
  // A range that ends beyond the representation is cut to its end. Ranges that begin beyond the end, and "-0", are
  // dropped. If all ranges are dropped, the result is kUnsatisfiable.
  Answer read(std::string_view value, uint64_t total_bytes);

  // Returns the ranges of the last read() in the order of the field. They lie inside the representation and may
  // overlap. The view is valid until the next read(). Use it only after kPartial.
  std::span<const HttpByteRange> all() const { return {ranges_.data(), count_}; }

 private:
  std::array<HttpByteRange, kHttpRangesMax> ranges_;
  size_t count_ = 0;
};

// Returns the value of a Content-Range field for a part of the representation: "bytes 42-1233/1234".
std::string http_content_range(const HttpByteRange& range, uint64_t total_bytes);

// Returns the value of the Content-Range field of an answer 416: "bytes */1234".
std::string http_content_range(uint64_t total_bytes);

// The value of a Content-Range field (RFC 9110 14.4). At least one of the members is set.
struct HttpContentRangeParts {
  std::optional<HttpByteRange> range;   // nullopt in an answer 416: "bytes */1234"
  std::optional<uint64_t> total_bytes;  // nullopt if the server does not know the length: "bytes 0-99/*"
};

// Reads the value of a Content-Range field. Returns nullopt if the value is malformed:
// - the unit is not "bytes",
// - the range ends before it begins, or beyond the total,
// - the field has neither a range nor a total,
// - a number does not fit 64 bits.
std::optional<HttpContentRangeParts> parse_http_content_range(std::string_view value);

}  // namespace peal
