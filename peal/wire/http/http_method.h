// SPDX-License-Identifier: BSD-3-Clause
// The methods that RFC 9110 9 and RFC 5789 define. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace peal {

enum class HttpMethod : uint8_t { kGet, kHead, kPost, kPut, kDelete, kConnect, kOptions, kTrace, kPatch, kOther };
inline constexpr int kHttpMethods = 10;

// "GET" and so on; "" for kOther, whose name only the message knows.
std::string_view to_string(HttpMethod method);
// Case matters (RFC 9110 9.1): "get" is kOther.
HttpMethod http_method(std::string_view name);

}  // namespace peal
