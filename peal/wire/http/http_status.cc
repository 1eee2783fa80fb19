// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_status.h>

#include <algorithm>
#include <array>

namespace peal {
namespace {

constexpr std::string_view kPrefix = "HTTP/1.1 ";

// The status lines with their CR LF, sorted by code.
constexpr std::array kStatusLines = std::to_array<std::string_view>({
    "HTTP/1.1 100 Continue\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n",
    "HTTP/1.1 102 Processing\r\n",
    "HTTP/1.1 103 Early Hints\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 201 Created\r\n",
    "HTTP/1.1 202 Accepted\r\n",
    "HTTP/1.1 203 Non-Authoritative Information\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 205 Reset Content\r\n",
    "HTTP/1.1 206 Partial Content\r\n",
    "HTTP/1.1 207 Multi-Status\r\n",
    "HTTP/1.1 208 Already Reported\r\n",
    "HTTP/1.1 226 IM Used\r\n",
    "HTTP/1.1 300 Multiple Choices\r\n",
    "HTTP/1.1 301 Moved Permanently\r\n",
    "HTTP/1.1 302 Found\r\n",
    "HTTP/1.1 303 See Other\r\n",
    "HTTP/1.1 304 Not Modified\r\n",
    "HTTP/1.1 305 Use Proxy\r\n",
    "HTTP/1.1 307 Temporary Redirect\r\n",
    "HTTP/1.1 308 Permanent Redirect\r\n",
    "HTTP/1.1 400 Bad Request\r\n",
    "HTTP/1.1 401 Unauthorized\r\n",
    "HTTP/1.1 402 Payment Required\r\n",
    "HTTP/1.1 403 Forbidden\r\n",
    "HTTP/1.1 404 Not Found\r\n",
    "HTTP/1.1 405 Method Not Allowed\r\n",
    "HTTP/1.1 406 Not Acceptable\r\n",
    "HTTP/1.1 407 Proxy Authentication Required\r\n",
    "HTTP/1.1 408 Request Timeout\r\n",
    "HTTP/1.1 409 Conflict\r\n",
    "HTTP/1.1 410 Gone\r\n",
    "HTTP/1.1 411 Length Required\r\n",
    "HTTP/1.1 412 Precondition Failed\r\n",
    "HTTP/1.1 413 Content Too Large\r\n",
    "HTTP/1.1 414 URI Too Long\r\n",
    "HTTP/1.1 415 Unsupported Media Type\r\n",
    "HTTP/1.1 416 Range Not Satisfiable\r\n",
    "HTTP/1.1 417 Expectation Failed\r\n",
    "HTTP/1.1 421 Misdirected Request\r\n",
    "HTTP/1.1 422 Unprocessable Content\r\n",
    "HTTP/1.1 423 Locked\r\n",
    "HTTP/1.1 424 Failed Dependency\r\n",
    "HTTP/1.1 425 Too Early\r\n",
    "HTTP/1.1 426 Upgrade Required\r\n",
    "HTTP/1.1 428 Precondition Required\r\n",
    "HTTP/1.1 429 Too Many Requests\r\n",
    "HTTP/1.1 431 Request Header Fields Too Large\r\n",
    "HTTP/1.1 451 Unavailable For Legal Reasons\r\n",
    "HTTP/1.1 500 Internal Server Error\r\n",
    "HTTP/1.1 501 Not Implemented\r\n",
    "HTTP/1.1 502 Bad Gateway\r\n",
    "HTTP/1.1 503 Service Unavailable\r\n",
    "HTTP/1.1 504 Gateway Timeout\r\n",
    "HTTP/1.1 505 HTTP Version Not Supported\r\n",
    "HTTP/1.1 506 Variant Also Negotiates\r\n",
    "HTTP/1.1 507 Insufficient Storage\r\n",
    "HTTP/1.1 508 Loop Detected\r\n",
    "HTTP/1.1 510 Not Extended\r\n",
    "HTTP/1.1 511 Network Authentication Required\r\n",
});

constexpr int code_of(std::string_view line) {
  const auto digit = [line](size_t at) { return line[kPrefix.size() + at] - '0'; };
  return digit(0) * 100 + digit(1) * 10 + digit(2);
}
static_assert(std::ranges::is_sorted(kStatusLines, {}, code_of));

// Returns a table that maps each code to the index of its line in kStatusLines plus 1, or to 0 if the code has no line.
constexpr std::array<uint8_t, 600> make_places() {
  std::array<uint8_t, 600> places{};
  for (size_t at = 0; at < kStatusLines.size(); ++at) {
    places[static_cast<size_t>(code_of(kStatusLines[at]))] = static_cast<uint8_t>(at + 1);
  }
  return places;
}
constexpr std::array<uint8_t, 600> kPlaces = make_places();

}  // namespace

std::string_view http_status_line(int status) {
  if (status < 0 || status >= static_cast<int>(kPlaces.size())) return {};
  const uint8_t place = kPlaces[static_cast<size_t>(status)];
  return place == 0 ? std::string_view() : kStatusLines[place - 1U];
}

std::string_view http_reason(int status) {
  const std::string_view line = http_status_line(status);
  return line.empty() ? line : line.substr(kPrefix.size() + 4, line.size() - kPrefix.size() - 6);
}

}  // namespace peal
