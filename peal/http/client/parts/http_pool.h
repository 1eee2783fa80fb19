// SPDX-License-Identifier: BSD-3-Clause
// HttpPool: what an HttpClient does on its loop: which connections there are, which fetch gets which, and who waits.
//
// A fetch is not bound to the connection that was begun for it: whichever is free first serves the one that has waited
// for longest. So a connection that fails to come up fails a fetch only where more wait than are still on their way.
// Connections that are free are used again last in, first out, so that those beyond the need grow old and are closed.
// When there may be no more of them, a connection that becomes free gives its place to an origin without one whose
// first fetch has waited for longer than all of its own origin: a busy origin starves no other.
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

struct HttpOrigin {
  std::string key;   // HttpFetch::connection_key() of all that its connections carry
  HttpWay way;       // of its connections
  std::string host;  // of the URL: whom a layer is to reach
  const StreamLayer* layer = nullptr;
  // Not empty: what the proxy at `address` is asked for, a whole CONNECT. Behind its 2xx the layer begins.
  std::string tunnel_request = {};
  size_t links = 0;
  size_t connecting = 0;                           // of those
  std::vector<HttpLink*> idle;                     // used last: at the back
  std::deque<std::shared_ptr<HttpFetch>> waiting;  // longest: at the front
};

class HttpPool : public std::enable_shared_from_this<HttpPool> {
 public:
  HttpPool(Loop& loop, const HttpClientOptions& options);

  // `whole`: the answer is collected, and may begin anew.
  Result<HttpFetchId> start(HttpClientRequest request, HttpFetchCallbacks callbacks, bool whole);
  HttpFetch* find(HttpFetchId id) const;
  // Nobody is told anything any more.
  void retire();
  // On the loop, or where nobody runs it.
  bool may_be_touched() const { return loop() != nullptr || !mailbox_->open(); }
  // Null where it may not be touched, or is no more.
  Loop* loop() const { return mailbox_->reachable(); }
  const HttpClientOptions& options() const { return options_; }
  // What a connection to that URL's origin runs over; null: nothing.
  const StreamLayer* layer_of(const HttpUrl& url) const {
    return url.is_https() ? options_.layer : client_options_.connection.layer;
  }
  // Null: none.
  const HttpProxyRules* proxies() const { return proxies_.get(); }
  HttpClientStats stats() const;

  // For fetches. Nothing of the user's is called in them.
  // To be carried by a link as soon as there is one, at once perhaps. `first`: before all others.
  void enter_queue(std::shared_ptr<HttpFetch> fetch, bool first);
  void leave_queue(const HttpFetch& fetch);
  // Whether the wait will end with a connection, not with another fetch.
  bool is_being_connected(const HttpFetch& fetch) const;
  void forget(const HttpFetch& fetch) { fetches_.erase(fetch.id()); }
  void release(HttpLink& link, bool reusable);
  // The server that closed one has most likely closed the others.
  void drop_idle(const std::string& key);
  HttpClientStats& counters() { return stats_; }
  // The exception that is being handled left an on_done.
  void log_thrown();
  // Only where requests are repeated.
  HttpRetryBudget& retry_budget() { return *retry_budget_; }
  // Counts one request more, or one less, that waits for its next attempt.
  void begin_back_off() { ++backing_off_; }
  void end_back_off();
  // Requests without a connection: those in a queue and those that wait for their next attempt.
  size_t waiting() const { return waiting_ + backing_off_; }

  // For links.
  void opened(HttpLink& link);
  void connect_failed(HttpLink& link, std::error_code error);
  // Closes it, if it is still open.
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

  Loop* const loop_;  // good where mailbox_ says it can be reached
  const std::shared_ptr<Mailbox> mailbox_;
  const HttpClientOptions options_;
  ClientOptions client_options_;                         // of each link
  std::unordered_map<std::string, HttpOrigin> origins_;  // that have a link or somebody who waits
  std::vector<std::shared_ptr<HttpLink>> links_;
  std::unordered_map<HttpFetchId, std::shared_ptr<HttpFetch>> fetches_;
  std::unique_ptr<const HttpProxyRules> proxies_;
  std::unique_ptr<HttpRetryBudget> retry_budget_;  // null: nothing is repeated
  size_t waiting_ = 0;                             // requests in the queues of all origins
  size_t backing_off_ = 0;                         // requests that wait for their next attempt
  TimerId age_timer_;
  uint64_t last_id_ = 0;
  HttpClientStats stats_;
  LogLimiter throws_log_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
