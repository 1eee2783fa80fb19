// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/http_trouble.h>

namespace peal {
namespace {

class HttpTroubleCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "http"; }
  std::string message(int value) const override {
    switch (static_cast<HttpTrouble>(value)) {
      case HttpTrouble::kBadUrl: return "the URL is no absolute http or https URL";
      case HttpTrouble::kNeedsLayer: return "an https URL needs a layer, TLS: HttpClientOptions::layer is null";
      case HttpTrouble::kBadRequest: return "the request cannot be written as HTTP";
      case HttpTrouble::kQueueFull: return "too many requests wait for a connection";
      case HttpTrouble::kQueueTimeout: return "no connection became free in time";
      case HttpTrouble::kConnectTimeout: return "the server could not be connected to in time";
      case HttpTrouble::kFirstByteTimeout: return "the server did not begin to answer in time";
      case HttpTrouble::kTotalTimeout: return "the answer was not complete in time";
      case HttpTrouble::kAttemptTimeout: return "the last attempt took too long";
      case HttpTrouble::kStalled: return "the server was too slow";
      case HttpTrouble::kClosedEarly: return "the server closed before its answer was complete";
      case HttpTrouble::kUnaskedUpgrade: return "the server changed the protocol without being asked";
      case HttpTrouble::kAnswerTooLarge: return "the answer is larger than allowed";
      case HttpTrouble::kTooManyRedirects: return "too many redirects";
      case HttpTrouble::kBadRedirect: return "the server redirects to what is no http URL";
      case HttpTrouble::kUploadTooFarBehind: return "the server takes the request's body too slowly";
      case HttpTrouble::kPlainRedirect: return "the server redirects from https to http, which is not allowed";
      case HttpTrouble::kUndecodable: return "the answer is not in the coding that it claims";
      case HttpTrouble::kBadProxy: return "the environment names no proxy that can be used";
      case HttpTrouble::kBadPart: return "the server sends another part of the file than was asked for";
      case HttpTrouble::kMalformed:
      case HttpTrouble::kProxyRefused:
      case HttpTrouble::kServerRefused: break;
    }
    const std::error_code whole(value, *this);
    if (const int status = status_of_server(whole)) return "the server answers " + std::to_string(status);
    if (const int status = status_of_proxy(whole)) {
      return "the proxy answers " + std::to_string(status) + " instead of opening a tunnel";
    }
    const int error = value - static_cast<int>(HttpTrouble::kMalformed);
    if (error < 0 || error >= kHttpParseErrors) return "unknown";
    return "malformed response: " + std::string(to_string(static_cast<HttpParseError>(error)));
  }
};

// Returns the status that was added to `base` in order to make `error`. Returns 0 if `error` was not made from `base`.
int status_above(HttpTrouble base, std::error_code error) {
  const int status = error.value() - static_cast<int>(base);
  return error.category() == http_trouble_category() && status > 0 && status < 1000 ? status : 0;
}

}  // namespace

const std::error_category& http_trouble_category() noexcept {
  static const HttpTroubleCategory category;
  return category;
}

bool is_malformed_answer(std::error_code error) {
  return error.category() == http_trouble_category() && error.value() >= static_cast<int>(HttpTrouble::kMalformed) &&
         error.value() < static_cast<int>(HttpTrouble::kProxyRefused);
}

int status_of_proxy(std::error_code error) { return status_above(HttpTrouble::kProxyRefused, error); }

int status_of_server(std::error_code error) { return status_above(HttpTrouble::kServerRefused, error); }

}  // namespace peal
