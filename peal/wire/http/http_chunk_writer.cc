// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_chunk_writer.h>

#include <algorithm>
#include <charconv>

#include <peal/base/bad_value.h>

namespace peal {
namespace {

// Fields that a recipient needs before the body, or that decide where the message goes. They must not be trailers.
constexpr std::string_view kNotAfterBody[] = {
    "content-length",
    "transfer-encoding",
    "host",
    "trailer",
    "te",
    "connection",
    "upgrade",
    "expect",
    "max-forwards",
    "cache-control",
    "authorization",
    "set-cookie",
    "cookie",
    "www-authenticate",
    "proxy-authenticate",
    "content-encoding",
    "content-type",
    "content-range",
    "proxy-authorization",
};

bool may_trail(const HttpField& field) {
  return is_sendable(field) &&
         std::ranges::none_of(kNotAfterBody, [&](std::string_view name) { return same_field_name(field.name, name); });
}

}  // namespace

size_t write_http_chunk_head(std::span<char, kMostHttpChunkHeadBytes> room, uint64_t bytes) {
  if (bytes == 0) throw_bad_value("a chunk of no bytes would end the body");
  char* end = std::to_chars(room.data(), room.data() + room.size(), bytes, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return static_cast<size_t>(end - room.data());
}

bool append_http_last_chunk(std::string& text, std::span<const HttpField> trailers) {
  if (!std::ranges::all_of(trailers, may_trail)) return false;
  text.append("0\r\n");
  for (const HttpField& field : trailers) text.append(field.name).append(": ").append(field.value).append("\r\n");
  text.append("\r\n");
  return true;
}

}  // namespace peal
