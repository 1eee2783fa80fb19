// SPDX-License-Identifier: BSD-3-Clause
// The framing of a chunked body (RFC 9112 7.1): for each piece a head, the piece, kHttpChunkEnd; then a last chunk.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <peal/wire/http/http_field.h>

namespace peal {

inline constexpr size_t kMostHttpChunkHeadBytes = 18;  // 16 digits, CR LF
inline constexpr std::string_view kHttpChunkEnd = "\r\n";
inline constexpr std::string_view kHttpLastChunk = "0\r\n\r\n";  // where there are no trailers

// Writes the head of a chunk of `bytes`; of 0, which would end the body, std::invalid_argument. Returns how much of
// `room` it took.
size_t write_http_chunk_head(std::span<char, kMostHttpChunkHeadBytes> room, uint64_t bytes);

// Appends the last chunk with its trailers. False, and nothing is appended, where one is not sendable or is a field
// that must not come so late: framing, routing, credentials, content description (RFC 9110 6.5.1).
[[nodiscard]] bool append_http_last_chunk(std::string& text, std::span<const HttpField> trailers);

}  // namespace peal
