// SPDX-License-Identifier: BSD-3-Clause
// HttpClient: sends HTTP/1.1 requests to http and https URLs, on one loop, and keeps connections for later requests.
//
//   peal::HttpClient client(loop);
//   client.fetch(peal::HttpClientRequest("http://example.org/"), [](peal::Result<peal::HttpResponse> answer) { ... });
//   auto answer = co_await client.fetch(request);                    // the same call in a coroutine
//   client.start(request, {.on_body = [](peal::HttpFetch&, std::string_view piece) { ... }});   // of any length
//   peal::HttpClientStream stream = client.open(request);            // the same for a coroutine
//
// https runs over HttpClientOptions::layer, for example TLS. The server must prove that it is the URL's host, even if
// connect_to or a proxy says which address to connect to. Kept connections are separate for http and https, so that a
// request for https never goes out in the clear.
//
// The client can also decode answers, retry, use proxies and keep cookies. Each of these is off unless an option or a
// request turns it on. http_download.h stores the content of a URL in a file.
//
// The client follows redirects (RFC 9110 15.4). A redirect to another origin carries no credentials; http and https are
// different origins. If a kept connection was closed before a byte of the answer arrived, the request is sent once
// more, provided that this does no harm (RFC 9110 9.2.2, HttpClientRequest::repeats). A connection is used again only
// if both the request and the answer on it ended cleanly.
//
// Thread rule: a client belongs to its loop. It may be used on the loop's thread, before the loop runs, and after the
// loop has ended. The client may be destroyed at any time, even inside a callback of one of its requests; no callback
// begins after that. Coroutines that await something of the client must have ended before it is destroyed. When the
// loop ends, requests on a connection fail with Trouble::kLoopStopped; the callbacks of requests that wait for a
// connection are never called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <peal/base/callback.h>
#include <peal/http/client/http_client_request.h>
#include <peal/http/client/http_client_stream.h>
#include <peal/http/client/http_fetch.h>
#include <peal/http/client/http_proxy.h>
#include <peal/http/client/http_retry.h>
#include <peal/loop/loop.h>
#include <peal/net/client.h>
#include <peal/wire/content/content_decoder.h>
#include <peal/wire/http/http_response_parser.h>

namespace peal {

class HttpCookieJar;

struct HttpClientOptions {
  HttpClientOptions() {
    client.connection.min_read_bytes = 1;
    client.connection.read_window = std::chrono::seconds(60);
  }

  // The options of each connection. They act as ClientOptions says, with these exceptions:
  // - `connect_timeout` applies twice if a proxy has to open a tunnel: once to connect to the proxy, once to CONNECT;
  // - `retry` is ignored, HttpClientOptions::retry is used instead;
  // - `connection.layer` is used for http URLs only, `layer` below for https URLs;
  // - `connect.host` is ignored, the URL's host is used instead.
  // If an answer has begun and no byte arrives for `connection.read_window`, the request fails with
  // HttpTrouble::kStalled.
  ClientOptions client = {};

  // The layer of https connections. It must outlive the client. If it is null, the default, a request for an https URL
  // fails with HttpTrouble::kNeedsLayer.
  const StreamLayer* layer = nullptr;

  // True if redirects from https to http are followed, as browsers and curl do. Everybody on the network path can then
  // read the redirected request, including the body that is sent again after 307 and 308. If false, a request that gets
  // such a redirect fails with HttpTrouble::kPlainRedirect.
  bool plain_redirects = true;

  // The jar that stores the cookies which servers set. Each request, also one after a redirect, sends the cookies of
  // the jar that apply to its URL. A request that has a Cookie field of its own sends no cookie of the jar. The jar
  // must outlive the client and is used on the client's loop. Null, the default, means no cookies.
  HttpCookieJar* cookies = nullptr;

  // The proxies to use; none by default. The constructor of HttpClient throws std::invalid_argument if there is a proxy
  // for http URLs and `client.connection.layer` is set as well.
  HttpProxies proxies = {};

  HttpResponseLimits limits = {};
  HttpDeadlines deadlines = {};

  // The most connections to one origin. Browsers open at most six.
  size_t most_per_origin = 8;

  // The most connections to all origins together. If one more is needed, the connection that has been idle for longest
  // is closed.
  size_t most_connections = 256;

  // The most requests that may wait for a connection, or for the next attempt that HttpRetry has planned. A further
  // request fails with HttpTrouble::kQueueFull, unless an idle connection can carry it at once.
  size_t most_waiting = 1024;

  // Says whether and when a failed request is sent again; off by default.
  HttpRetry retry = {};

  // True if the client decodes answers that are coded with gzip or zstd. Off by default: a proxy, or a program that
  // checks lengths or checksums, needs the bytes as they arrived.
  bool decode = false;

  // Limits of the decoder. A request whose answer exceeds them fails with HttpTrouble::kAnswerTooLarge.
  // content_decoder.h says how much memory a decoder needs.
  ContentDecoderLimits decoding = {};

  // The largest body, after decoding, that fetch() collects. A request with a larger one fails with
  // HttpTrouble::kAnswerTooLarge. The memory budget counts a collected body if it is larger than 4 KiB. While memory is
  // above the budget's hard mark, a request whose collected body grows fails with ENOMEM.
  size_t answer_limit_bytes = 16 * 1024 * 1024;

  // The time after which a connection that carries no request is closed.
  Duration idle_timeout = std::chrono::seconds(30);

  // The longest time that a request with "Expect: 100-continue" waits for the answer 100. The body is sent after this
  // time even without that answer. The default of one second is curl's.
  Duration continue_timeout = std::chrono::seconds(1);
};

// Counters since the client was created. The last three fields count what exists at the moment of the call.
struct HttpClientStats {
  uint64_t requests = 0;
  uint64_t answered = 0;   // requests whose answer was complete
  uint64_t failed = 0;     // requests whose callback got an error
  uint64_t cancelled = 0;  // also the answers that were too large for fetch() to collect
  uint64_t refused = 0;    // requests that failed with HttpTrouble::kQueueFull
  uint64_t redirects = 0;  // redirects that were followed
  uint64_t repeated = 0;   // requests sent once more because a kept connection was dead
  uint64_t retried = 0;    // attempts that HttpRetry added
  uint64_t unpaid = 0;     // retries that were not made because HttpRetry::budget was used up
  uint64_t connected = 0;
  uint64_t connect_failed = 0;
  size_t connections = 0;  // open connections and those that are being connected
  size_t idle = 0;         // open connections that carry no request
  size_t waiting = 0;      // requests without a connection, those between two attempts included
};

class HttpClient {
 public:
  using Answered = Callback<void(Result<HttpResponse> answer)>;

  explicit HttpClient(Loop& loop, const HttpClientOptions& options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Sends the request and collects the whole answer, whatever its status. `on_answer` is called once, from the loop,
  // never inside this call. If this call fails, `on_answer` is never called. This call fails with:
  // - HttpTrouble::kBadUrl, kNeedsLayer, kBadRequest or kQueueFull;
  // - Trouble::kLoopStopped if the loop has ended.
  Result<HttpFetchId> fetch(HttpClientRequest request, Answered on_answer);

  // Sends the request and passes the answer to the callbacks as it arrives; see HttpFetchCallbacks. Fails as fetch()
  // does.
  Result<HttpFetchId> start(HttpClientRequest request, HttpFetchCallbacks callbacks);

  // Returns the request that has this id, or null if that request has ended.
  HttpFetch* find(HttpFetchId id);

  // Ends a request without calling any of its callbacks again, and closes the connection that carries it. Returns false
  // if the request had ended before.
  bool cancel(HttpFetchId id);

  // For coroutines on the client's loop: fetch() awaits the whole answer, and open() begins a request whose answer is
  // read in pieces. See http_client_stream.h.
  HttpFetchAwait fetch(HttpClientRequest request) { return {*this, std::move(request)}; }
  HttpClientStream open(HttpClientRequest request) { return {*this, std::move(request)}; }

  HttpClientStats stats() const;
  Loop& loop() const { return loop_; }

 private:
  friend class HttpClientStream;
  friend class HttpDownload;
  Loop& loop_;
  const std::shared_ptr<detail::HttpPool> pool_;
};

}  // namespace peal
