// SPDX-License-Identifier: BSD-3-Clause
// compose_http_request() makes the text of an HTTP/1.1 request (RFC 9112 3 and 5). The text may be sent any number of
// times. Pure function; any thread.
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
  std::string host;          // the value of the Host field; ignored if `fields` has a Host; may be empty
  std::vector<HttpRequestField> fields;
  std::string body;  // any bytes

  // Set one of these two members if the body is not in `body`, but is sent after the text of compose_http_request().
  // `following_bytes` is the length of that body. `chunked_follows` is true if the body is sent in chunks instead.
  std::optional<uint64_t> following_bytes = {};
  bool chunked_follows = false;
};

// Returns the head and the body as text. Host is the first field. Content-Length is added if there is a body, and also
// for POST, PUT and PATCH without a body (RFC 9110 8.6). Transfer-Encoding is added if chunked_follows is true.
//
// Returns a sentence that describes the mistake if:
// - the method or the name of a field is not a token;
// - the target is empty, or contains a space, a control character or a byte beyond ASCII;
// - the host or the value of a field contains a control character other than HTAB. Such a character could let the
//   caller's data add header lines of its own;
// - there are two Host fields;
// - the fields contain Content-Length or Transfer-Encoding, which this function adds itself;
// - more than one of `body`, `following_bytes` and `chunked_follows` is set.
std::expected<std::string, std::string> compose_http_request(const HttpRequest& request);

}  // namespace peal
