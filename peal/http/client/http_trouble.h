// SPDX-License-Identifier: BSD-3-Clause
// What can go wrong with a request that HttpClient carries, beside Trouble::kTruncated and the errors of connecting:
// errno values, peal's Trouble (Trouble::kNoAnswer and kHostNotFound among them) and what a layer's handshake fails
// with, in its own words (StreamPort::errors()). docs/troubles.md has the usual cause and the cure of each.
#pragma once

#include <string>
#include <system_error>

#include <peal/base/result.h>
#include <peal/wire/http/http_parse_error.h>

namespace peal {

enum class HttpTrouble : int {
  // The request itself; nothing was sent.
  kBadUrl = 1,  // no absolute http or https URL
  kNeedsLayer,  // https, and HttpClientOptions::layer is null
  kBadRequest,  // a method, field or target that cannot be written, or two bodies
  kQueueFull,   // HttpClientOptions::most_waiting requests wait already
  // Deadlines.
  kQueueTimeout,      // every connection to the origin stayed busy
  kConnectTimeout,    // ClientOptions::connect_timeout
  kFirstByteTimeout,  // no answer came
  kTotalTimeout,
  kStalled,  // ConnectionOptions::read_window or write_window: the peer has begun and goes on too slowly
  // The answer.
  kClosedEarly,         // the peer closed or reset before the answer was complete
  kUnaskedUpgrade,      // 101, and nothing was asked for
  kAnswerTooLarge,      // more than fetch() is to collect, or HttpClientOptions::decoding allows
  kTooManyRedirects,    //
  kBadRedirect,         // its Location is no http URL
  kUploadTooFarBehind,  // more was given to write() than ConnectionOptions::output_limit_bytes
  kPlainRedirect,       // from https to http, and HttpClientOptions::plain_redirects is off
  kAttemptTimeout,      // HttpRetry::attempt_timeout, of the last one
  kUndecodable,         // the body is not in the coding that Content-Encoding names, or ends inside it
  kBadProxy,            // HttpProxies::from_environment()
  kBadPart,             // of a download: not the part of the file that was asked for, or another length than said
  // And, from here on, an answer that is no HTTP: kMalformed + the HttpParseError.
  kMalformed = 100,
  // The proxy does not open the tunnel: kProxyRefused + the status of its answer to CONNECT. 407: it wants to know who
  // asks; 502 and 504: it does not reach the server.
  kProxyRefused = 1000,
  // A download's server answers with this + the status.
  kServerRefused = 2000,
};

const std::error_category& http_trouble_category() noexcept;
inline std::error_code make_error_code(HttpTrouble trouble) noexcept {
  return {static_cast<int>(trouble), http_trouble_category()};
}
inline std::error_code malformed_answer(HttpParseError error) noexcept {
  return {static_cast<int>(HttpTrouble::kMalformed) + static_cast<int>(error), http_trouble_category()};
}
// Whether it is one of malformed_answer().
bool is_malformed_answer(std::error_code error);
inline std::error_code proxy_refusal(int status) noexcept {
  return {static_cast<int>(HttpTrouble::kProxyRefused) + status, http_trouble_category()};
}
inline std::error_code server_refusal(int status) noexcept {
  return {static_cast<int>(HttpTrouble::kServerRefused) + status, http_trouble_category()};
}
// The status of a proxy_refusal(), of a server_refusal(); 0: it is none.
int status_of_proxy(std::error_code error);
int status_of_server(std::error_code error);

inline std::unexpected<std::error_code> fail(HttpTrouble trouble) { return std::unexpected(make_error_code(trouble)); }

}  // namespace peal

template <>
struct std::is_error_code_enum<peal::HttpTrouble> : std::true_type {};
