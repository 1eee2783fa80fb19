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

// Deadlines of one request; 0 means none. `queue` and `first_byte` begin anew each time the request is sent again:
// after a redirect, in a retry, or because a kept connection was dead. `total` covers all of these together. Connecting
// has a limit of its own, ClientOptions::connect_timeout.
struct HttpDeadlines {
  // The longest time that the request waits because every connection to the origin is busy. After it, the request fails
  // with HttpTrouble::kQueueTimeout.
  Duration queue = std::chrono::seconds(30);

  // The longest time from passing the last byte of the request to the connection until the first byte of the final
  // answer arrives. After it, the request fails with HttpTrouble::kFirstByteTimeout. Interim answers (RFC 9110 15.2) do
  // not extend this time. 60 s is a common default of proxies.
  Duration first_byte = std::chrono::seconds(60);

  // The longest time from the start of the request to the end of the answer. After it, the request fails with
  // HttpTrouble::kTotalTimeout. Off by default, since an answer may be an endless stream;
  // ConnectionOptions::read_window ends an answer that stalls. After a request has become a tunnel, no deadline applies
  // to it.
  Duration total = {};
};

// One request. The struct has constructors because g++ 12 destroys an aggregate twice that is created inside `co_await
// fetch({...})`.
struct HttpClientRequest {
  HttpClientRequest() = default;
  // The constructor that takes only a URL makes a GET request; the other one takes any method.
  explicit HttpClientRequest(std::string its_url) : url(std::move(its_url)) {}
  HttpClientRequest(std::string its_method, std::string its_url, std::string its_body = {})
      : method(std::move(its_method)), url(std::move(its_url)), body(std::move(its_body)) {}

  HttpClientRequest& add(std::string name, std::string value) {
    fields.push_back({std::move(name), std::move(value)});
    return *this;
  }

  std::string method = "GET";
  std::string url;  // absolute, http or https

  // Fields to send. The client adds Host, and Content-Length or Transfer-Encoding. If an option asks for them, it also
  // adds Expect, Accept-Encoding, Cookie and Proxy-Authorization. The client adds no other field, not even User-Agent.
  // A Host field given here replaces the client's own and is sent first.
  std::vector<HttpRequestField> fields;

  // The body, if all of it is known when the request begins. Empty if the request has no body or `streamed` is true.
  std::string body;

  // True if the application passes the body to HttpFetch::write() piece by piece and ends it with end_body(); `body`
  // must then be empty. HttpRetry never repeats a request with a streamed body. Such a request follows a redirect only
  // if the redirect changes the method to GET.
  bool streamed = false;

  // The length of a streamed body in bytes. If nullopt, the body is sent in chunks.
  std::optional<uint64_t> streamed_bytes = {};

  // The request target, if it is not the URL's path and query: "*", or an authority for CONNECT (RFC 9112 3.2).
  std::string target = {};

  // The address to connect to instead of the URL's host and port, in the form that Client::connect() takes, for example
  // "unix:/run/service.sock". A redirect within the URL's origin (RFC 9110 4.3.1) uses this address too; a redirect to
  // another origin uses the address in its own URL. With https, the server must still prove that it is the URL's host.
  std::string connect_to = {};

  // The most redirects that are followed; a request that is redirected once more fails with
  // HttpTrouble::kTooManyRedirects. If 0, no redirect is followed, and the application gets the redirect as the answer.
  unsigned most_redirects = 10;

  // True if the client adds the field "Expect: 100-continue" (RFC 9110 10.1.1). The body is then sent when one of these
  // happens:
  // - the server answers 100;
  // - the server sends a final answer with a status below 300 and keeps the connection;
  // - HttpClientOptions::continue_timeout has passed.
  // If the server answers 417, the request is sent once more, without Expect. This is not done if the body is streamed
  // and HttpFetch::write() has been called for it before.
  bool expects_continue = false;

  // True if an answer that is coded with gzip or zstd is decoded. If nullopt, HttpClientOptions::decode decides. If
  // true:
  // - the client adds Accept-Encoding, unless `fields` has an Accept-Encoding or a Range;
  // - the head that the application gets has no Content-Encoding and no Content-Length, if the body was decoded;
  // - the answer stays as it is if it has no whole body (HEAD, 204, 206, 304), another coding or several codings;
  // - the request fails with HttpTrouble::kUndecodable if the body is not valid in its coding or is cut short.
  std::optional<bool> decode = {};

  // Says whether the client may send this request more than once, either as a retry of HttpClientOptions::retry or
  // because a kept connection was dead.
  HttpRepeats repeats = HttpRepeats::kWhereHarmless;

  // True if the connection may become a tunnel, which it does after 101, or after 2xx to a CONNECT (see
  // HttpFetch::tunnel()). If false, a request with such an answer fails with HttpTrouble::kUnaskedUpgrade.
  bool may_upgrade = false;

  // Deadlines of this request. If nullopt, HttpClientOptions::deadlines apply.
  std::optional<HttpDeadlines> deadlines = {};
};

// A whole answer. The client asks for no transfer coding except chunked. If the server uses another one, the request
// fails with malformed_answer(HttpParseError::kUnknownCoding).
struct HttpResponse {
  int status() const { return head.status(); }
  std::optional<std::string_view> find(std::string_view name) const { return head.find(name); }

  HttpResponseHead head;
  std::string body;
  // The lines of the trailers, in the form that HttpFetchCallbacks::on_trailers describes; empty if there are none.
  std::string trailers;
  // The URL that the answer came from. After a redirect, this is not the URL of the request.
  std::string url;
};

}  // namespace peal
