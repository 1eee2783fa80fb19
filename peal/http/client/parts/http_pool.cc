// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/parts/http_pool.h>

#include <algorithm>
#include <cerrno>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>

namespace peal::detail {
namespace {

// Returns the text of the CONNECT request. Composing it cannot fail, since the parsers of the URL and of the proxy have
// checked all values.
std::string tunnel_request(const HttpUrl& url, const HttpProxy& proxy) {
  HttpRequest connect{.method = "CONNECT", .target = url.host_and_port(), .host = url.host_and_port()};
  if (!proxy.authorization.empty()) connect.fields.push_back({"Proxy-Authorization", proxy.authorization});
  return compose_http_request(connect).value();
}

}  // namespace

HttpPool::HttpPool(Loop& loop, const HttpClientOptions& options)
    : loop_(&loop), mailbox_(loop.mailbox()), options_(options), client_options_(options.client) {
  if (options.most_per_origin == 0 || options.most_connections == 0) {
    throw_bad_value("HttpClientOptions: most_connections ({}) and most_per_origin ({}) must be at least 1",
                    options.most_connections, options.most_per_origin);
  }
  client_options_.retry = {};
  if (options.retry.attempts > 1) {
    retry_budget_ = std::make_unique<HttpRetryBudget>(options.retry, loop.engine().random_seed());
  }
  if (!options.proxies.http.empty() || !options.proxies.https.empty()) {
    proxies_ = std::make_unique<const HttpProxyRules>(options.proxies);
    if (!options.proxies.http.empty() && client_options_.connection.layer != nullptr) {
      throw_bad_value("HttpClientOptions: proxies.http and client.connection.layer must not both be set");
    }
  }
}

Result<HttpFetchId> HttpPool::start(HttpClientRequest request, HttpFetchCallbacks callbacks, bool whole) {
  if (!mailbox_->open()) return fail(Trouble::kLoopStopped);
  PEAL_ASSERT(loop() != nullptr, "request {} is started on a thread other than its client's loop", last_id_ + 1);
  auto url = HttpUrl::parse(request.url);
  if (!url) return fail(HttpTrouble::kBadUrl);
  const HttpDeadlines deadlines = request.deadlines.value_or(options_.deadlines);
  const HttpFetchId id{++last_id_};
  const std::shared_ptr<HttpFetch> fetch(new HttpFetch(shared_from_this(), id, std::move(request), std::move(*url),
                                                       std::make_unique<HttpFetchCallbacks>(std::move(callbacks))));
  if (Result<void> composed = fetch->compose(); !composed) return std::unexpected(composed.error());
  if (waiting() >= options_.most_waiting) {
    const auto origin = origins_.find(fetch->connection_key());
    if (origin == origins_.end() || origin->second.idle.empty()) {
      ++stats_.refused;
      return fail(HttpTrouble::kQueueFull);
    }
  }
  ++stats_.requests;
  fetches_.emplace(id, fetch);
  fetch->begin(deadlines);
  if (retry_budget_) {
    retry_budget_->earn();
    fetch->begin_attempts(whole);
  }
  enter_queue(fetch, false);
  return id;
}

HttpFetch* HttpPool::find(HttpFetchId id) const {
  const auto found = fetches_.find(id);
  return found == fetches_.end() ? nullptr : found->second.get();
}

HttpClientStats HttpPool::stats() const {
  HttpClientStats stats = stats_;
  stats.connections = links_.size();
  for (const auto& [key, origin] : origins_) stats.idle += origin.idle.size();
  stats.waiting = waiting();
  return stats;
}

void HttpPool::retire() {
  const auto fetches = std::exchange(fetches_, {});
  for (const auto& [id, fetch] : fetches) fetch->retire();
  if (Loop* here = loop()) here->cancel(age_timer_);
  for (const auto& link : links_) link->detach_fetch();
  origins_.clear();
  waiting_ = 0;
  backing_off_ = 0;
  links_.clear();
}

void HttpPool::enter_queue(std::shared_ptr<HttpFetch> fetch, bool first) {
  const std::string key = fetch->connection_key();
  HttpOrigin& origin = origins_[key];
  if (origin.key.empty()) {
    origin.key = key;
    origin.way = fetch->way();
    origin.host = fetch->url().host;
    origin.layer = layer_of(fetch->url());
    if (fetch->needs_tunnel()) origin.tunnel_request = tunnel_request(fetch->url(), *fetch->proxy());
  }
  fetch->wait_in_queue();
  ++waiting_;
  if (first) {
    origin.waiting.push_front(std::move(fetch));
  } else {
    origin.waiting.push_back(std::move(fetch));
  }
  serve_waiting(origin);
}

void HttpPool::leave_queue(const HttpFetch& fetch) {
  const auto found = origins_.find(fetch.connection_key());
  if (found == origins_.end()) return;
  HttpOrigin& origin = found->second;
  waiting_ -= std::erase_if(origin.waiting, [&](const auto& each) { return each.get() == &fetch; });
  // This closes connections that are being opened and are not needed any more. The newest are closed first, since older
  // ones will be open sooner.
  for (size_t i = links_.size(); i-- > 0 && origin.connecting > origin.waiting.size();) {
    if (&links_[i]->origin == &origin && links_[i]->is_connecting()) remove(*links_[i]);
  }
  serve_after_change(origin);
}

void HttpPool::end_back_off() {
  PEAL_ASSERT(backing_off_ > 0,
              "a request ends a wait for its next attempt that was never counted; {} requests are in queues", waiting_);
  --backing_off_;
}

bool HttpPool::is_being_connected(const HttpFetch& fetch) const {
  const auto found = origins_.find(fetch.connection_key());
  if (found == origins_.end()) return false;
  const auto& waiting = found->second.waiting;
  const auto at = std::ranges::find(waiting, &fetch, [](const auto& each) { return each.get(); });
  return static_cast<size_t>(at - waiting.begin()) < found->second.connecting;
}

void HttpPool::opened(HttpLink& link) {
  --link.origin.connecting;
  ++stats_.connected;
  release(link, true);
}

void HttpPool::connect_failed(HttpLink& link, std::error_code error) {
  const auto keep = remove(link);
  HttpOrigin& origin = link.origin;
  ++stats_.connect_failed;
  std::shared_ptr<HttpFetch> unlucky;
  if (origin.waiting.size() > origin.connecting) unlucky = next_waiting(origin);
  serve_after_change(origin);
  if (error == errno_code(ETIMEDOUT)) error = make_error_code(HttpTrouble::kConnectTimeout);
  if (unlucky) unlucky->give_up(error);
}

void HttpPool::release(HttpLink& link, bool reusable) {
  link.detach_fetch();
  HttpOrigin& origin = link.origin;
  if (!reusable || !link.is_open()) return drop(link);
  if (link.sends_rest()) return link.await_rest();
  if (yields_connection(origin)) return drop(link);
  link.idle_since = loop_->now();
  origin.idle.push_back(&link);
  if (!age_timer_) start_age_timer(options_.idle_timeout);
  serve_after_change(origin);
}

void HttpPool::drop(HttpLink& link) {
  HttpOrigin& origin = link.origin;
  if (remove(link)) serve_after_change(origin);
}

void HttpPool::drop_idle(const std::string& key) {
  const auto origin = origins_.find(key);
  if (origin == origins_.end()) return;
  while (!origin->second.idle.empty()) remove(*origin->second.idle.back());
}

// Removes the link from all lists and returns it, so that the caller decides how long the link lives. Does not erase
// the link's origin, even if the origin is empty now; serve_waiting() does that.
std::shared_ptr<HttpLink> HttpPool::remove(HttpLink& link) {
  const auto found = std::ranges::find(links_, &link, [](const auto& each) { return each.get(); });
  if (found == links_.end()) return nullptr;
  auto keep = std::move(*found);
  links_.erase(found);
  std::erase(link.origin.idle, &link);
  if (link.is_connecting()) --link.origin.connecting;
  --link.origin.links;
  return keep;
}

bool HttpPool::may_connect(HttpOrigin& origin) {
  if (origin.links >= options_.most_per_origin) return false;
  return links_.size() < options_.most_connections || drop_oldest_idle();
}

bool HttpPool::drop_oldest_idle() {
  HttpLink* oldest = nullptr;
  for (auto& [key, origin] : origins_) {
    if (origin.idle.empty()) continue;
    HttpLink* const its_oldest = origin.idle.front();
    if (oldest == nullptr || its_oldest->idle_since < oldest->idle_since) oldest = its_oldest;
  }
  if (oldest != nullptr) remove(*oldest);
  return oldest != nullptr;
}

// Among the origins that have no connection, open or being opened, returns the one whose fetch has waited for longest.
// Returns null if no fetch waits at such an origin.
HttpOrigin* HttpPool::longest_without_connection() {
  HttpOrigin* longest = nullptr;
  for (auto& [key, origin] : origins_) {
    if (origin.links > 0 || origin.waiting.empty()) continue;
    if (longest == nullptr || origin.waiting.front()->id() < longest->waiting.front()->id()) longest = &origin;
  }
  return longest;
}

// Returns true if a connection of `origin` that has just become free must be closed, so that another origin can open a
// connection.
bool HttpPool::yields_connection(const HttpOrigin& origin) {
  if (links_.size() < options_.most_connections || origin.waiting.empty()) return false;
  const HttpOrigin* const other = longest_without_connection();
  return other != nullptr && other->waiting.front()->id() < origin.waiting.front()->id();
}

void HttpPool::connect(HttpOrigin& origin) {
  const auto link = std::make_shared<HttpLink>(weak_from_this(), origin, options_.limits);
  links_.push_back(link);
  ++origin.links;
  ++origin.connecting;
  ClientOptions options = client_options_;
  options.connect.host = origin.host;
  options.connection.layer = origin.layer;
  options.connection.layer_later = origin.layer != nullptr && !origin.tunnel_request.empty();
  const Result<void> begun = link->connect(*loop_, origin.way, options);
  if (begun) return;
  remove(*link);
  if (const auto fetch = next_waiting(origin)) fetch->fail_soon(begun.error());
}

std::shared_ptr<HttpFetch> HttpPool::next_waiting(HttpOrigin& origin) {
  if (origin.waiting.empty()) return nullptr;
  auto fetch = std::move(origin.waiting.front());
  origin.waiting.pop_front();
  --waiting_;
  return fetch;
}

void HttpPool::use_idle(HttpOrigin& origin) {
  while (!origin.waiting.empty() && !origin.idle.empty()) {
    HttpLink& link = *origin.idle.back();
    origin.idle.pop_back();
    link.carry(*next_waiting(origin));
  }
}

// Gives idle connections to the waiting fetches of `origin`, and opens new connections up to the limits. Erases
// `origin` if it has neither connections nor waiting fetches.
void HttpPool::serve_waiting(HttpOrigin& origin) {
  use_idle(origin);
  while (origin.waiting.size() > origin.connecting && may_connect(origin)) connect(origin);
  if (origin.links == 0 && origin.waiting.empty()) origins_.erase(origin.key);
}

// Called after `changed` has lost a connection or has got an idle one, so that other origins may be able to open one.
// First gives the idle connections of `changed` to its fetches. Then opens connections for origins without a
// connection, and at last serves all others.
void HttpPool::serve_after_change(HttpOrigin& changed) {
  use_idle(changed);
  for (size_t left = waiting_; left > 0 && waiting_ > 0; --left) {
    HttpOrigin* const next = longest_without_connection();
    if (next == nullptr || (links_.size() >= options_.most_connections && !drop_oldest_idle())) break;
    connect(*next);
    if (next != &changed && next->links == 0 && next->waiting.empty()) origins_.erase(next->key);
  }
  serve_waiting(changed);
  serve_all_origins();
}

void HttpPool::serve_all_origins() {
  if (waiting_ == 0) return;
  for (auto at = origins_.begin(); at != origins_.end();) serve_waiting((at++)->second);
}

void HttpPool::start_age_timer(Duration delay) {
  age_timer_ = loop_->after(delay, [weak = weak_from_this()] {
    if (const auto pool = weak.lock()) pool->drop_aged();
  });
}

void HttpPool::drop_aged() {
  age_timer_ = {};
  const TimePoint now = loop_->now();
  TimePoint next = kNever;
  for (auto at = origins_.begin(); at != origins_.end();) {
    HttpOrigin& origin = (at++)->second;
    while (!origin.idle.empty() && later(origin.idle.front()->idle_since, options_.idle_timeout) <= now) {
      remove(*origin.idle.front());
    }
    if (!origin.idle.empty()) next = std::min(next, later(origin.idle.front()->idle_since, options_.idle_timeout));
    serve_waiting(origin);
  }
  serve_all_origins();
  if (next != kNever && !age_timer_) start_age_timer(next - now);
}

void HttpPool::log_thrown() {
  if (const auto suppressed = throws_log_.admit(loop_->now())) {
    PEAL_LOG_ERROR("the on_done callback of a request threw an exception: {} ({} more were not logged)",
                   what_was_thrown(), *suppressed);
  }
}

}  // namespace peal::detail
