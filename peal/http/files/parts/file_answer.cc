// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/files/parts/file_answer.h>

#include <array>
#include <random>
#include <string>

#include <fmt/format.h>

namespace peal::detail {
namespace {

// The boundary between parts must not occur in the file. It is random, so nobody can write a file that contains it.
std::string make_boundary() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
}

void send_one_range(HttpExchange& exchange, std::string_view media_type, const FileVariant& variant,
                    const HttpByteRange& range) {
  exchange.set_field("Content-Range", http_content_range(range, variant.bytes));
  if (variant.content != nullptr) {
    return exchange.respond(206, media_type, std::string_view(*variant.content).substr(range.first, range.bytes));
  }
  exchange.respond_file(206, media_type, FileRange{variant.file, range.first, range.bytes});
}

}  // namespace

void send_whole(HttpExchange& exchange, std::string_view media_type, const FileVariant& variant) {
  if (variant.content != nullptr) {
    // The body shares the bytes with the cache and does not copy them.
    Buffer body;
    body.append(variant.content);
    return exchange.respond(200, media_type, std::move(body));
  }
  if (variant.bytes == 0) return exchange.respond(200, media_type, std::string_view());
  exchange.respond_file(200, media_type, FileRange{variant.file, 0, variant.bytes});
}

void send_ranges(HttpExchange& exchange, std::string_view media_type, const FileVariant& variant,
                 std::span<const HttpByteRange> ranges) {
  if (ranges.size() == 1) return send_one_range(exchange, media_type, variant, ranges.front());
  const std::string boundary = make_boundary();
  const std::string end = fmt::format("\r\n--{}--\r\n", boundary);
  std::array<std::string, kHttpRangesMax> heads;
  uint64_t bytes = end.size();
  for (size_t at = 0; at < ranges.size(); ++at) {
    heads[at] = fmt::format("{}--{}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n", at == 0 ? "" : "\r\n", boundary,
                            media_type, http_content_range(ranges[at], variant.bytes));
    bytes += heads[at].size() + ranges[at].bytes;
  }
  exchange.set_content_length(bytes);
  exchange.begin(206, "multipart/byteranges; boundary=" + boundary);
  for (size_t at = 0; at < ranges.size(); ++at) {
    exchange.write(heads[at]);
    if (variant.content != nullptr) {
      exchange.write(std::string_view(*variant.content).substr(ranges[at].first, ranges[at].bytes));
    } else {
      exchange.write_file(FileRange{variant.file, ranges[at].first, ranges[at].bytes});
    }
  }
  exchange.write(end);
  exchange.end();
}

}  // namespace peal::detail
