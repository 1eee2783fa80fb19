// SPDX-License-Identifier: BSD-3-Clause
// HttpTrouble: the errors of an HttpClient's requests that are HTTP's own. A request may also fail with:
// - Trouble::kTruncated and the errors of connecting: errno values, and Trouble such as kNoAnswer and kHostNotFound;
// - the errors of a layer's handshake, in the layer's own category (StreamPort::errors()).
// docs/troubles.md has the usual cause and the cure of each.
#pragma once

#include <string>
#include <system_error>

#include <peal/base/result.h>
#include <peal/wire/http/http_parse_error.h>

namespace peal {

enum class HttpTrouble : int {
  // Errors of the request itself; nothing was sent.
  kBadUrl = 1,  // the URL is no absolute http or https URL
  kNeedsLayer,  // the URL is https, and HttpClientOptions::layer is null
  kBadRequest,  // a method, field or target is invalid, there are two bodies, or a streamed body has another length
  kQueueFull,   // HttpClientOptions::most_waiting requests wait already

  // Deadlines that have passed.
  kQueueTimeout,      // HttpDeadlines::queue: every connection to the origin stayed busy
  kConnectTimeout,    // ClientOptions::connect_timeout
  kFirstByteTimeout,  // HttpDeadlines::first_byte: no byte of the answer arrived
  kTotalTimeout,      // HttpDeadlines::total
  kStalled,           // ConnectionOptions::read_window or write_window: the peer sends or receives too slowly

  // Errors of the answer, or of something else that the comment of the value names.
  kClosedEarly,       // the peer closed or reset before the answer was complete
  kUnaskedUpgrade,    // 101, or 2xx to a CONNECT, without HttpClientRequest::may_upgrade
  kAnswerTooLarge,    // the body is beyond answer_limit_bytes, HttpClientOptions::decoding or limit_bytes of a download
  kTooManyRedirects,  // more than HttpClientRequest::most_redirects
  kBadRedirect,       // the Location of a redirect is no http or https URL
  kUploadTooFarBehind,  // unsent bytes of the body exceed ConnectionOptions::output_limit_bytes
  kPlainRedirect,       // a redirect from https to http, and HttpClientOptions::plain_redirects is off
  kAttemptTimeout,      // the last attempt took longer than HttpRetry::attempt_timeout
  kUndecodable,         // the body is not valid in the coding that Content-Encoding names, or is cut short
  kBadProxy,            // HttpProxies::from_environment() found a variable that names no HTTP proxy
  kBadPart,             // a download got a part that it did not ask for, or another length than the server said

  // The answer is no valid HTTP. The value of the error is kMalformed + the HttpParseError.
  kMalformed = 100,

  // The proxy does not open a tunnel. The value of the error is kProxyRefused + the status of the proxy's answer to
  // CONNECT. 407 means that the proxy wants name and password; 502 and 504 mean that the proxy cannot reach the server.
  kProxyRefused = 1000,

  // A download cannot use the server's answer. The value of the error is kServerRefused + the status of that answer.
  kServerRefused = 2000,
};

const std::error_category& http_trouble_category() noexcept;
inline std::error_code make_error_code(HttpTrouble trouble) noexcept {
  return {static_cast<int>(trouble), http_trouble_category()};
}
inline std::error_code malformed_answer(HttpParseError error) noexcept {
  return {static_cast<int>(HttpTrouble::kMalformed) + static_cast<int>(error), http_trouble_category()};
}

// Returns true if the error was made by malformed_answer().
bool is_malformed_answer(std::error_code error);

inline std::error_code proxy_refusal(int status) noexcept {
  return {static_cast<int>(HttpTrouble::kProxyRefused) + status, http_trouble_category()};
}
inline std::error_code server_refusal(int status) noexcept {
  return {static_cast<int>(HttpTrouble::kServerRefused) + status, http_trouble_category()};
}

// Returns the status of the proxy's answer if `error` was made by proxy_refusal(). Returns 0 for any other error.
int status_of_proxy(std::error_code error);
// Returns the status of the server's answer if `error` was made by server_refusal(). Returns 0 for any other error.
int status_of_server(std::error_code error);

inline std::unexpected<std::error_code> fail(HttpTrouble trouble) { return std::unexpected(make_error_code(trouble)); }

}  // namespace peal

template <>
struct std::is_error_code_enum<peal::HttpTrouble> : std::true_type {};
