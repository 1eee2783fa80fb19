// SPDX-License-Identifier: BSD-3-Clause
// The bodies of answers with a file: all of it, or the parts of it that were asked for.
#pragma once

#include <span>
#include <string_view>

#include <peal/http/files/parts/file_cache.h>
#include <peal/http/server/http_exchange.h>
#include <peal/wire/content/http_range.h>

namespace peal::detail {

// 200.
void send_whole(HttpExchange& exchange, std::string_view media_type, const FileVariant& variant);
// 206: of one range its bytes, of several multipart/byteranges (RFC 9110 14.6).
void send_ranges(HttpExchange& exchange, std::string_view media_type, const FileVariant& variant,
                 std::span<const HttpByteRange> ranges);

}  // namespace peal::detail
