// SPDX-License-Identifier: BSD-3-Clause
// An HTTP/1.1 request as text (RFC 9112 3 and 5), composed once and sent as often as wanted. Pure; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peal {

struct HttpRequestField {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query (origin-form), "*" or an absolute URL
  std::string host;          // the value of the Host field, which a field of that name replaces; may be empty
  std::vector<HttpRequestField> fields;
  std::string body;  // any bytes
  // Of a body that the caller sends behind this text; at most one of the two, and then no `body`.
  std::optional<uint64_t> following_bytes = {};
  bool chunked_follows = false;
};

// The head and the body. Host comes first. Content-Length is set where there is a body, and for POST, PUT and PATCH
// without one too (RFC 9110 8.6).
//
// Refused, with a sentence that names the trouble: a method or field name that is no token; a target with a space, a
// control or a byte beyond ASCII; CR, LF, NUL or another control in a value or the host (each would let the caller's
// data write header lines of its own); two Host fields; Content-Length and Transfer-Encoding, which are set here; two
// bodies.
std::expected<std::string, std::string> compose_http_request(const HttpRequest& request);

}  // namespace peal
