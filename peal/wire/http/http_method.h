// SPDX-License-Identifier: BSD-3-Clause
// The request methods that RFC 9110 9 and RFC 5789 (PATCH) define. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace peal {

enum class HttpMethod : uint8_t { kGet, kHead, kPost, kPut, kDelete, kConnect, kOptions, kTrace, kPatch, kOther };
inline constexpr int kHttpMethods = 10;

// Returns the name, for example "GET". Returns "" for kOther: only the text of the request has the name of such a
// method.
std::string_view to_string(HttpMethod method);

// Returns the method of that name, or kOther for any other name. Upper and lower case differ (RFC 9110 9.1): "get" is
// kOther.
HttpMethod http_method(std::string_view name);

}  // namespace peal
