// SPDX-License-Identifier: BSD-3-Clause
// Sends a file as the body of an answer: the whole file, or the ranges that the client asked for.
#pragma once

#include <span>
#include <string_view>

#include <peal/http/files/parts/file_cache.h>
#include <peal/http/server/http_exchange.h>
#include <peal/wire/content/http_range.h>

namespace peal::detail {

// Answers 200 with the whole file.
void send_whole(HttpExchange& exchange, std::string_view media_type, const FileVariant& variant);
// Answers 206. One range is sent as it is, several as multipart/byteranges (RFC 9110 14.6).
void send_ranges(HttpExchange& exchange, std::string_view media_type, const FileVariant& variant,
                 std::span<const HttpByteRange> ranges);

}  // namespace peal::detail
