// SPDX-License-Identifier: BSD-3-Clause
// HttpPool: what an HttpClient does on its loop. The pool owns the connections and the fetches, and decides which fetch
// gets which connection and which fetches wait.
//
// A fetch is not bound to the connection that was begun for it. A connection that becomes free serves the fetch of its
// origin that has waited for longest. If a connection cannot be opened, a fetch fails only if more fetches wait than
// connections are still being opened.
//
// The idle connection that was used last is used first. Connections beyond the need thus stay idle and are closed after
// idle_timeout.
//
// A busy origin A cannot starve an origin B that has no connection. When most_connections are open and one of A's
// becomes free, the pool compares the oldest waiting fetches of both. If B's fetch has waited for longer, the pool
// closes the connection and opens one for B.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <peal/base/log_limiter.h>
#include <peal/http/client/http_client.h>
#include <peal/http/client/http_fetch.h>
#include <peal/http/client/parts/http_link.h>
#include <peal/http/client/parts/http_proxy_rules.h>
#include <peal/http/client/parts/http_retrying.h>

namespace peal::detail {

// An origin of the pool: the connections that can carry the same requests, and the fetches that wait for one of them.
struct HttpOrigin {
  std::string key;   // HttpFetch::connection_key() of all fetches of this origin
  HttpWay way;       // the address to connect to
  std::string host;  // the URL's host, which a layer's handshake must prove
  const StreamLayer* layer = nullptr;

  // The whole text of the CONNECT request that is sent to the proxy at `way`; empty if no tunnel is needed. The layer's
  // handshake begins after the proxy has answered 2xx.
  std::string tunnel_request = {};

  size_t links = 0;                                // all connections of this origin
  size_t connecting = 0;                           // how many of `links` are not open yet
  std::vector<HttpLink*> idle;                     // the one that was used last is at the back
  std::deque<std::shared_ptr<HttpFetch>> waiting;  // the one that has waited for longest is at the front
};

class HttpPool : public std::enable_shared_from_this<HttpPool> {
 public:
  HttpPool(Loop& loop, const HttpClientOptions& options);

  // Begins a request, as HttpClient::start() does. `whole` is true if the answer is collected before the application
  // gets it. HttpRetry may then repeat the request until the answer is complete.
  Result<HttpFetchId> start(HttpClientRequest request, HttpFetchCallbacks callbacks, bool whole);
  HttpFetch* find(HttpFetchId id) const;
  // Ends all requests without calling a callback, and closes all connections. Called when the client is being
  // destroyed.
  void retire();
  // Returns true if the caller may use the pool: it is on the loop's thread, or the loop is not running.
  bool may_be_touched() const { return loop() != nullptr || !mailbox_->open(); }
  // Returns the loop. Returns null if the caller must not use the loop now, or if the loop has ended.
  Loop* loop() const { return mailbox_->reachable(); }
  const HttpClientOptions& options() const { return options_; }

  // Returns the layer (TLS for https) that connections for this URL run over, or null if they run over none.
  const StreamLayer* layer_of(const HttpUrl& url) const {
    return url.is_https() ? options_.layer : client_options_.connection.layer;
  }

  // Returns the rules for proxies, or null if the client uses no proxy.
  const HttpProxyRules* proxies() const { return proxies_.get(); }
  HttpClientStats stats() const;

  // Functions that fetches call. None of these functions calls the user's code.

  // Puts the fetch into the queue of its origin, or gives it an idle connection at once. If `first` is true, the fetch
  // is put at the front of the queue.
  void enter_queue(std::shared_ptr<HttpFetch> fetch, bool first);
  // Removes the fetch from the queue of its origin, if it is there. Closes connections that are being opened and that
  // no waiting fetch needs any more.
  void leave_queue(const HttpFetch& fetch);
  // Returns true if so many connections are being opened that this fetch will get one, even if no busy one becomes
  // free.
  bool is_being_connected(const HttpFetch& fetch) const;
  // Ends the pool's ownership of the fetch, which has ended.
  void forget(const HttpFetch& fetch) { fetches_.erase(fetch.id()); }
  // Takes back the connection of a fetch. Keeps the connection for other fetches if `reusable` is true, otherwise
  // closes it.
  void release(HttpLink& link, bool reusable);
  // Closes all idle connections of an origin. Called after the server has closed one of these connections, since the
  // server has then most likely closed the others too.
  void drop_idle(const std::string& key);
  HttpClientStats& counters() { return stats_; }
  // Logs the exception that is being handled; an on_done callback has thrown it. Logs at most one line a second.
  void log_thrown();
  // Returns the retry budget. May be called only if HttpRetry::attempts is above 1.
  HttpRetryBudget& retry_budget() { return *retry_budget_; }
  // begin_back_off() and end_back_off() count the requests that wait for their next attempt.
  void begin_back_off() { ++backing_off_; }
  void end_back_off();
  // Returns how many requests have no connection: those in a queue, and those that wait for their next attempt.
  size_t waiting() const { return waiting_ + backing_off_; }

  // Functions that links call.

  // Called when a connection is ready for requests.
  void opened(HttpLink& link);
  // Called when a connection could not be opened. If more fetches wait than connections are still being opened, fails
  // the fetch that has waited for longest.
  void connect_failed(HttpLink& link, std::error_code error);
  // Removes the link from the pool. This closes the connection if it is still open.
  void drop(HttpLink& link);

 private:
  bool may_connect(HttpOrigin& origin);
  bool drop_oldest_idle();
  HttpOrigin* longest_without_connection();
  bool yields_connection(const HttpOrigin& origin);
  void connect(HttpOrigin& origin);
  std::shared_ptr<HttpFetch> next_waiting(HttpOrigin& origin);
  std::shared_ptr<HttpLink> remove(HttpLink& link);
  void use_idle(HttpOrigin& origin);
  void serve_waiting(HttpOrigin& origin);
  void serve_after_change(HttpOrigin& changed);
  void serve_all_origins();
  void drop_aged();
  void start_age_timer(Duration delay);

  Loop* const loop_;  // may be used only if mailbox_ says that the loop is reachable
  const std::shared_ptr<Mailbox> mailbox_;
  const HttpClientOptions options_;
  ClientOptions client_options_;                         // the options of each link
  std::unordered_map<std::string, HttpOrigin> origins_;  // those with a link or a waiting fetch
  std::vector<std::shared_ptr<HttpLink>> links_;
  std::unordered_map<HttpFetchId, std::shared_ptr<HttpFetch>> fetches_;
  std::unique_ptr<const HttpProxyRules> proxies_;
  std::unique_ptr<HttpRetryBudget> retry_budget_;  // null if HttpRetry::attempts is 1
  size_t waiting_ = 0;                             // requests in the queues of all origins
  size_t backing_off_ = 0;                         // requests that wait for their next attempt
  TimerId age_timer_;
  uint64_t last_id_ = 0;
  HttpClientStats stats_;
  LogLimiter throws_log_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
