// SPDX-License-Identifier: BSD-3-Clause
// HttpClientRequest: the request that is given to an HttpClient. HttpResponse: the answer that fetch() collects. Both
// are values and may be used on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/clock.h>
#include <peal/http/client/http_retry.h>
#include <peal/wire/http/http_request_text.h>
#include <peal/wire/http/http_response_head.h>

namespace peal {

// Deadlines of one request; 0 means none. `queue` and `first_byte` begin anew with each redirect, repetition and retry;
// `total` covers all of them together. Connecting has its own limit, ClientOptions::connect_timeout.
struct HttpDeadlines {
  // The longest wait while every connection to the origin is busy; then HttpTrouble::kQueueTimeout.
  Duration queue = std::chrono::seconds(30);

  // The longest time from the last byte of the request, when the connection gets it, to the first byte of the final
  // answer; then HttpTrouble::kFirstByteTimeout. Interim answers (RFC 9110 15.2) do not extend it. 60 s is a common
  // default of proxies.
  Duration first_byte = std::chrono::seconds(60);

  // The longest time from the start of the request to the end of the answer; then HttpTrouble::kTotalTimeout. Off by
  // default, since an answer may be an endless stream; one that stalls is ended by ConnectionOptions::read_window. A
  // request that has become a tunnel has no deadline any more.
  Duration total = {};
};

// One request. This is no aggregate, because g++ 12 destroys aggregates inside `co_await fetch({...})` twice.
struct HttpClientRequest {
  HttpClientRequest() = default;
  // Makes a GET request.
  explicit HttpClientRequest(std::string its_url) : url(std::move(its_url)) {}
  HttpClientRequest(std::string its_method, std::string its_url, std::string its_body = {})
      : method(std::move(its_method)), url(std::move(its_url)), body(std::move(its_body)) {}

  HttpClientRequest& add(std::string name, std::string value) {
    fields.push_back({std::move(name), std::move(value)});
    return *this;
  }

  std::string method = "GET";
  std::string url;  // absolute, http or https

  // Fields to send. The client adds Host, Content-Length or Transfer-Encoding; also Expect, Accept-Encoding, Cookie and
  // Proxy-Authorization if an option asks for them. The client adds no other field, not even User-Agent. A Host field
  // given here replaces the client's own and is sent first.
  std::vector<HttpRequestField> fields;

  // The body, if it is known before; empty means no body.
  std::string body;

  // True if the body is passed to HttpFetch::write() piece by piece, until end_body(); `body` is then empty. A request
  // whose body is streamed is never repeated by HttpRetry. It follows a redirect only if that turns it into a GET.
  bool streamed = false;

  // The length of a streamed body in bytes. If there is none, the body is sent in chunks.
  std::optional<uint64_t> streamed_bytes = {};

  // The request target, if it is not the URL's path and query: "*", or an authority for CONNECT (RFC 9112 3.2).
  std::string target = {};

  // The address to connect to instead of the URL's host and port, in the form that Client::connect() takes, for example
  // "unix:/run/service.sock". A redirect within the URL's origin (RFC 9110 4.3.1) uses this address too; a redirect to
  // another origin uses the address in its own URL. With https, the server must still prove that it is the URL's host.
  std::string connect_to = {};

  // The most redirects that are followed; one more fails with HttpTrouble::kTooManyRedirects. 0 means that a redirect
  // is shown as the answer.
  unsigned most_redirects = 10;

  // True if the request says "Expect: 100-continue" (RFC 9110 10.1.1). The body is then sent when one of these happens:
  // - the server answers 100;
  // - the server sends a final answer with a status below 300 and keeps the connection;
  // - HttpClientOptions::continue_timeout has passed.
  // After 417 the request is sent once more, without Expect, unless some of a streamed body was written before.
  bool expects_continue = false;

  // Whether an answer in gzip or zstd is shown decoded. Without a value, HttpClientOptions::decode decides. If true:
  // - the client adds Accept-Encoding, unless `fields` has an Accept-Encoding or a Range;
  // - the head that is shown has no Content-Encoding and no Content-Length, if the body was decoded;
  // - the answer stays as it is if it has no whole body (HEAD, 204, 206, 304), another coding or several codings;
  // - a body that is not valid in its coding, or is cut short, fails with HttpTrouble::kUndecodable.
  std::optional<bool> decode = {};

  // Whether the request may be sent again, by HttpClientOptions::retry or because a kept connection was dead.
  HttpRepeats repeats = HttpRepeats::kWhereHarmless;

  // True if the connection may become a tunnel, after 101 or after 2xx to a CONNECT (see HttpFetch::tunnel()). If
  // false, either answer fails with HttpTrouble::kUnaskedUpgrade.
  bool may_upgrade = false;

  // Deadlines of this request. Without a value, HttpClientOptions::deadlines count.
  std::optional<HttpDeadlines> deadlines = {};
};

// A whole answer. An answer in a transfer coding other than chunked, which the client never asks for, fails with
// malformed_answer(HttpParseError::kUnknownCoding).
struct HttpResponse {
  int status() const { return head.status(); }
  std::optional<std::string_view> find(std::string_view name) const { return head.find(name); }

  HttpResponseHead head;
  std::string body;
  // The lines of the trailers, in the form that HttpFetchCallbacks::on_trailers describes; empty if there are none.
  std::string trailers;
  // The URL that the answer came from, which differs from the request's after a redirect.
  std::string url;
};

}  // namespace peal
