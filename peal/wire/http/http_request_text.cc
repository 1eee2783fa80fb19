// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_request_text.h>

#include <algorithm>

#include <fmt/core.h>

#include <peal/base/ascii.h>
#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

using Unexpected = std::unexpected<std::string>;
using Outcome = std::expected<void, std::string>;

// Returns true if `text` contains no control character except HTAB, as in a field-value (RFC 9110 5.5).
bool is_value(std::string_view text) {
  return std::ranges::none_of(text, [](char byte) { return detail::is_control(byte) || byte == '\x7f'; });
}

Outcome check_request_line(const HttpRequest& request) {
  if (!detail::is_token(request.method)) return Unexpected(fmt::format("\"{}\" is not a method", request.method));
  if (request.target.empty()) return Unexpected("the target is empty; the least is \"/\"");
  const auto is_visible = [](char byte) { return byte > ' ' && byte < '\x7f'; };
  if (const auto odd = std::ranges::find_if_not(request.target, is_visible); odd != request.target.end()) {
    return Unexpected(fmt::format("byte {} of the target is 0x{:02x}, which must be percent-encoded",
                                  odd - request.target.begin() + 1, static_cast<unsigned char>(*odd)));
  }
  if (!is_value(request.host)) return Unexpected("the host has a control character in it");
  if ((request.body.empty() ? 0 : 1) + (request.following_bytes ? 1 : 0) + (request.chunked_follows ? 1 : 0) > 1) {
    return Unexpected("there is more than one body");
  }
  return {};
}

// Checks all fields. Returns the number of Host fields, 0 or 1, or a sentence that describes the first mistake.
std::expected<size_t, std::string> check_fields(const std::vector<HttpRequestField>& fields) {
  size_t hosts = 0;
  for (const HttpRequestField& field : fields) {
    if (!detail::is_token(field.name)) return Unexpected(fmt::format("\"{}\" is not a header's name", field.name));
    if (!is_value(field.value)) {
      return Unexpected(fmt::format("the value of {} has a line end or another control character in it", field.name));
    }
    const std::string name = to_lower(field.name);
    if (name == "content-length" || name == "transfer-encoding") {
      return Unexpected(fmt::format("{} is set from the body and cannot be given", field.name));
    }
    if (name == "host" && ++hosts > 1) return Unexpected("Host is given twice");
  }
  return hosts;
}

void append_field(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::expected<std::string, std::string> compose_http_request(const HttpRequest& request) {
  if (Outcome line = check_request_line(request); !line) return Unexpected(line.error());
  const auto hosts = check_fields(request.fields);
  if (!hosts) return Unexpected(hosts.error());

  std::string text = fmt::format("{} {} HTTP/1.1\r\n", request.method, request.target);
  if (*hosts == 0) append_field(text, "Host", request.host);
  const auto is_host = [](const HttpRequestField& field) { return to_lower(field.name) == "host"; };
  for (const HttpRequestField& field : request.fields) {
    if (is_host(field)) append_field(text, field.name, field.value);
  }
  for (const HttpRequestField& field : request.fields) {
    if (!is_host(field)) append_field(text, field.name, field.value);
  }
  const bool expects_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (request.chunked_follows) {
    append_field(text, "Transfer-Encoding", "chunked");
  } else if (!request.body.empty() || request.following_bytes || expects_body) {
    append_field(text, "Content-Length", std::to_string(request.following_bytes.value_or(request.body.size())));
  }
  return text.append("\r\n").append(request.body);
}

}  // namespace peal
