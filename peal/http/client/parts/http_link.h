// SPDX-License-Identifier: BSD-3-Clause
// HttpLink: one connection of an HttpClient's, with the parser of what comes on it. It is connecting, which a tunnel
// through a proxy and a layer in it are part of, carries one fetch, sends the rest of a request that is answered, or is
// idle. Owned by the pool; counted, because it may be dropped inside its own callbacks.
#pragma once

#include <memory>
#include <system_error>

#include <peal/base/clock.h>
#include <peal/http/client/http_fetch.h>
#include <peal/net/client.h>
#include <peal/wire/http/http_response_parser.h>

namespace peal::detail {

class HttpPool;
struct HttpOrigin;

class HttpLink : public std::enable_shared_from_this<HttpLink> {
 public:
  HttpLink(std::weak_ptr<HttpPool> pool, HttpOrigin& its_origin, const HttpResponseLimits& limits)
      : origin(its_origin), pool_(std::move(pool)), parser_(limits) {}

  Result<void> connect(Loop& loop, const HttpWay& way, const ClientOptions& options);
  // The fetch sends its request at once.
  void carry(HttpFetch& fetch);
  // It carries nothing any more.
  void detach_fetch();
  // The answer is complete, but bytes of its request still wait to be sent. The server may read them, or close.
  bool sends_rest() const { return is_open() && connection_->queued_bytes() > 0; }
  // When the kernel has taken those bytes, the pool is given the connection (HttpPool::release).
  void await_rest();

  bool is_connecting() const { return connecting_; }
  bool is_open() const { return connection_ != nullptr && connection_->is_open(); }
  // While it is open, or in the end of it.
  Connection& connection() const { return *connection_; }
  HttpResponseParser& parser() { return parser_; }

  HttpOrigin& origin;
  TimePoint idle_since{};

 private:
  ConnectionCallbacks callbacks();
  void opened(Connection& connection);
  void ready();
  // http_link_tunnel.cc
  void ask_for_tunnel();
  void take_tunnel_answer(Buffer& input);
  void tunnel_failed(std::error_code error);
  void received(Connection& connection, Buffer& input);
  void peer_ended();
  void writable();
  void closed(CloseReason reason);
  void report_end(std::error_code error);

  const std::weak_ptr<HttpPool> pool_;
  HttpResponseParser parser_;
  std::unique_ptr<Client> client_;
  Connection* connection_ = nullptr;  // from on_open to on_close
  HttpFetch* fetch_ = nullptr;
  std::string tunnel_answer_;  // of a proxy, as far as its head is there
  TimerId tunnel_timer_;
  uint64_t carried_ = 0;
  bool connecting_ = true;
  bool awaits_tunnel_ = false;
  bool awaits_rest_ = false;
};

}  // namespace peal::detail
