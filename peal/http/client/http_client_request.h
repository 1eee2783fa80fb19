// SPDX-License-Identifier: BSD-3-Clause
// What an HttpClient is asked, and what it answers where the whole answer is collected. Values; any thread.
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

// Of one request, redirects and a repetition included; 0: none. Connecting has ClientOptions::connect_timeout.
struct HttpDeadlines {
  // Waiting while every connection to the origin is busy.
  Duration queue = std::chrono::seconds(30);
  // From the last byte of the request given to the connection to the first one of the final answer; interim answers
  // (RFC 9110 15.2) do not renew it. As patient as proxies commonly are.
  Duration first_byte = std::chrono::seconds(60);
  // None unless asked for: an answer may be a stream without end. One that stands still is cut off by
  // ConnectionOptions::read_window.
  Duration total = {};
};

// With constructors, because g++ 12 destroys aggregates inside `co_await fetch({...})` twice.
struct HttpClientRequest {
  HttpClientRequest() = default;
  // A GET.
  explicit HttpClientRequest(std::string its_url) : url(std::move(its_url)) {}
  HttpClientRequest(std::string its_method, std::string its_url, std::string its_body = {})
      : method(std::move(its_method)), url(std::move(its_url)), body(std::move(its_body)) {}

  HttpClientRequest& add(std::string name, std::string value) {
    fields.push_back({std::move(name), std::move(value)});
    return *this;
  }

  std::string method = "GET";
  std::string url;  // absolute, http or https
  // Host, Content-Length, Transfer-Encoding and, where they are asked for, Expect and Accept-Encoding are added. A Host
  // given here goes first and instead. Nothing else is: no User-Agent.
  std::vector<HttpRequestField> fields;

  // The body: none; this; or whatever comes through HttpFetch::write() until end_body(), of a length known before or in
  // chunks. What is streamed can neither be repeated nor follow a redirect.
  std::string body;
  bool streamed = false;
  std::optional<uint64_t> streamed_bytes = {};

  // Instead of the URL's path and query: "*", or an authority for CONNECT (RFC 9112 3.2).
  std::string target = {};
  // Instead of the URL's host and port, as Client::connect() takes it, "unix:/run/service.sock" say. It is a way
  // to this origin: a redirect to the same one (RFC 9110 4.3.1) goes there too, one to another origin to what its URL
  // says. Of https the URL's host is still whom the server must prove to be.
  std::string connect_to = {};
  // Redirects followed; beyond it HttpTrouble::kTooManyRedirects. 0: a redirect is the answer.
  unsigned most_redirects = 10;
  // Expect: 100-continue: the body waits until the server wants it, has answered below 300 and keeps the connection, or
  // HttpClientOptions::continue_timeout has passed (RFC 9110 10.1.1).
  bool expects_continue = false;
  // Whether an answer in gzip or zstd is shown unpacked; none: HttpClientOptions::decode. Then it is asked for by
  // Accept-Encoding, unless a field of that name or a Range is here, and Content-Encoding and Content-Length are not in
  // the head that is shown. As it came stays what has no whole body (HEAD, 204, 206, 304) and what is in another
  // coding, or several. What is not in the coding it claims, or is cut short: HttpTrouble::kUndecodable.
  std::optional<bool> decode = {};
  // Whether it may be sent again: where HttpClientOptions::retry says so, and where a kept connection was dead.
  HttpRepeats repeats = HttpRepeats::kWhereHarmless;
  // The protocol may change: 101, and 2xx to a CONNECT, make the connection a tunnel. Without it 101 is an error.
  bool may_upgrade = false;
  std::optional<HttpDeadlines> deadlines = {};  // none: the client's
};

// An answer as a whole. One in a transfer coding beside chunked, which nobody asked for, is
// malformed_answer(HttpParseError::kUnknownCoding).
struct HttpResponse {
  int status() const { return head.status(); }
  std::optional<std::string_view> find(std::string_view name) const { return head.find(name); }

  HttpResponseHead head;
  std::string body;
  // As HttpFetchCallbacks::on_trailers has them; mostly empty.
  std::string trailers;
  std::string url;  // of the last redirect
};

}  // namespace peal
