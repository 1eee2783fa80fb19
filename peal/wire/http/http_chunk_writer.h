// SPDX-License-Identifier: BSD-3-Clause
// Functions that write the framing of a chunked body (RFC 9112 7.1). Each piece of the body is sent as a chunk: the
// head of the chunk, the piece, kHttpChunkEnd. The last chunk ends the body. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <peal/wire/http/http_field.h>

namespace peal {

inline constexpr size_t kMostHttpChunkHeadBytes = 18;  // 16 hexadecimal digits and CR LF
inline constexpr std::string_view kHttpChunkEnd = "\r\n";
inline constexpr std::string_view kHttpLastChunk = "0\r\n\r\n";  // the last chunk of a body without trailers

// Writes the head of a chunk of `bytes` bytes to the front of `room` and returns the size of the head. Throws
// std::invalid_argument if `bytes` is 0, because a chunk of size 0 would end the body.
size_t write_http_chunk_head(std::span<char, kMostHttpChunkHeadBytes> room, uint64_t bytes);

// Appends the last chunk with its trailers. Returns false and appends nothing if a trailer is not sendable, or if it is
// a field that must not follow the body (RFC 9110 6.5.1). These are fields about framing, routing, credentials, the
// content or the handling of the request, for example Content-Length, Host, Authorization, Content-Type and Expect.
[[nodiscard]] bool append_http_last_chunk(std::string& text, std::span<const HttpField> trailers);

}  // namespace peal
