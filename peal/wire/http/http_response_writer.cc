// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_response_writer.h>

#include <charconv>
#include <system_error>

#include <peal/base/bad_value.h>
#include <peal/wire/http/http_status.h>

namespace peal {
namespace {

bool is_framing_field(std::string_view name) {
  return (name.size() == 14 && same_field_name(name, "Content-Length")) ||
         (name.size() == 17 && same_field_name(name, "Transfer-Encoding"));
}

}  // namespace

void HttpResponseWriter::status(int status) {
  if (const std::string_view line = http_status_line(status); !line.empty()) [[likely]]
    return put(line);
  if (status < 100 || status > 999) throw_bad_value("a status of {}; 100 to 999 are possible", status);
  // A code that is not registered has no reason phrase. The status line must have the space after the code even then
  // (RFC 9112 4).
  char line[] = "HTTP/1.1 000 \r\n";
  std::to_chars(line + 9, line + 12, status);
  put({line, sizeof(line) - 1});
}

bool HttpResponseWriter::field(std::string_view name, std::string_view value) {
  if (!is_sendable({name, value}) || is_framing_field(name)) return false;
  put(name);
  put(": ");
  body(value);
  put("\r\n");
  return true;
}

void HttpResponseWriter::content_length(uint64_t bytes) {
  put("Content-Length: ");
  number(bytes);
  put("\r\n");
}

void HttpResponseWriter::number(uint64_t value) {
  const std::to_chars_result done = std::to_chars(at_, end_, value);
  PEAL_ASSERT(done.ec == std::errc(), "no room for the number {} in a response head", value);
  at_ = done.ptr;
}

}  // namespace peal
