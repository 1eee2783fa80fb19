// SPDX-License-Identifier: BSD-3-Clause
// HttpClient: HTTP/1.1 requests on one loop, http and https, over connections that are kept and used again.
//
//   peal::HttpClient client(loop);
//   client.fetch(peal::HttpClientRequest("http://example.org/"), [](peal::Result<peal::HttpResponse> answer) { ... });
//   auto answer = co_await client.fetch(request);                    // the same in a coroutine
//   client.start(request, {.on_head = ..., .on_body = ...});         // the answer as it arrives, any length
//   peal::HttpClientStream stream = client.open(request);            // that in a coroutine
//
// https goes over HttpClientOptions::layer, TLS say, and the server must prove to be the URL's host, however it is
// connected to. Connections are kept by scheme too: nothing that is meant for TLS ever goes out in the clear.
//
// What it does besides where its options or a request say so: it unpacks answers, asks again where that may help, goes
// by proxies and keeps cookies. http_download.h brings a URL to a file.
//
// Redirects are followed (RFC 9110 15.4), without credentials to another origin, which another scheme is. A request on
// a kept connection that turns out to be dead before a byte of the answer came is sent once more, if that does no harm
// (RFC 9110 9.2.2). A connection is used again only when both messages on it ended cleanly.
//
// It belongs to its loop and is used where the loop may be touched: on its thread, before it runs, or after it has
// ended. It may be destroyed with requests under way, from inside their callbacks: then no callback begins any more.
// What coroutines await of it must have ended before. When the loop ends, requests that are on a connection fail with
// Trouble::kLoopStopped, and those that wait are dropped.
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

  // Of each connection; a tunnel through a proxy may take connect_timeout once more; retry means nothing here. An
  // answer that has begun and then brings nothing for read_window is given up, HttpTrouble::kStalled. Without a
  // resolver the client has one for all its connections. What is said there of a layer is for http alone, and of
  // ConnectOptions::host nothing: that is the URL's host.
  ClientOptions client = {};
  // Of https. It outlives the client. Null, the default: https URLs are HttpTrouble::kNeedsLayer.
  const StreamLayer* layer = nullptr;
  // Whether redirects from https to http are followed, where whoever is in between reads all, the body that 307 and 308
  // send once more too. On, the default, as browsers and curl have it; off, they are HttpTrouble::kPlainRedirect.
  bool plain_redirects = true;
  // What servers set is kept there and sent back to them, at each redirect too; the jar outlives the client, and is its
  // loop's. A request with a Cookie field of its own goes out with that one alone. Null, the default: no cookies.
  HttpCookieJar* cookies = nullptr;
  // None, the default. With one for http, `client` has no layer, or std::invalid_argument.
  HttpProxies proxies = {};
  HttpResponseLimits limits = {};
  HttpDeadlines deadlines = {};
  size_t most_per_origin = 8;     // connections; browsers settled on six
  size_t most_connections = 256;  // in all; to open one more the oldest idle one is closed
  size_t most_waiting =
      1024;              // requests without a connection, between two attempts too; one more is HttpTrouble::kQueueFull
  HttpRetry retry = {};  // off
  // Off, the default, answers are shown as they came, which is what a proxy and whoever checks lengths or sums wants.
  bool decode = false;
  // Of an answer that is decoded. Beyond: HttpTrouble::kAnswerTooLarge. Of memory a decoder takes what its header says.
  ContentDecoderLimits decoding = {};
  // Of the body, decoded if it is, that fetch() collects, and that the memory budget counts from 4 KiB on: above its
  // hard mark a longer one is ENOMEM.
  size_t answer_limit_bytes = 16 * 1024 * 1024;
  Duration idle_timeout = std::chrono::seconds(30);     // then a connection that carries nothing is closed
  Duration continue_timeout = std::chrono::seconds(1);  // as curl's: silence for so long, and the body goes
};

// Plain counters since the client was made, and what is there now.
struct HttpClientStats {
  uint64_t requests = 0;
  uint64_t answered = 0;  // completely
  uint64_t failed = 0;    // told so
  uint64_t cancelled = 0;
  uint64_t refused = 0;    // most_waiting
  uint64_t redirects = 0;  // followed
  uint64_t repeated = 0;   // because a kept connection was dead
  uint64_t retried = 0;    // as HttpRetry has it
  uint64_t unpaid = 0;     // not retried for want of budget
  uint64_t connected = 0;
  uint64_t connect_failed = 0;
  size_t connections = 0;  // now, those that connect included
  size_t idle = 0;         // of those
  size_t waiting = 0;      // requests without a connection
};

class HttpClient {
 public:
  using Answered = Callback<void(Result<HttpResponse> answer)>;

  explicit HttpClient(Loop& loop, const HttpClientOptions& options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The whole answer, any status. `on_answer` comes once, from the loop; not when the call itself fails:
  // HttpTrouble::kBadUrl to kQueueFull, Trouble::kLoopStopped.
  Result<HttpFetchId> fetch(HttpClientRequest request, Answered on_answer);
  // The answer as it arrives. Errors as above.
  Result<HttpFetchId> start(HttpClientRequest request, HttpFetchCallbacks callbacks);
  // Null once it is over.
  HttpFetch* find(HttpFetchId id);
  // True if it was under way: nothing of it is called back any more, and a connection that carried it is closed.
  bool cancel(HttpFetchId id);

  // For coroutines on the client's loop; see http_client_stream.h.
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
