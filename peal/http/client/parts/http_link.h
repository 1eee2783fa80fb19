// SPDX-License-Identifier: BSD-3-Clause
// HttpLink: one connection of an HttpClient, with the parser for its answers. A link is always in one of these states:
// - connecting, which includes opening a tunnel through a proxy and the handshake of a layer;
// - carrying one fetch;
// - sending the rest of a request that was answered already;
// - idle.
// The pool owns its links. They are in shared_ptrs, because a link may be dropped inside its own callbacks. Links are
// used on the client's loop.
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

  // Starts connecting. If this call succeeds, HttpPool::opened() or connect_failed() is called later.
  Result<void> connect(Loop& loop, const HttpWay& way, const ClientOptions& options);
  // Gives the connection to `fetch`, which sends its request at once.
  void carry(HttpFetch& fetch);
  // Separates the link from its fetch, so that bytes which arrive later are not passed to that fetch.
  void detach_fetch();
  // Returns true if bytes of a request are still queued to be sent, although the answer is complete. The server may
  // read those bytes or close the connection.
  bool sends_rest() const { return is_open() && connection_->queued_bytes() > 0; }
  // Waits until the kernel has taken the queued bytes, then calls HttpPool::release() with this link.
  void await_rest();

  bool is_connecting() const { return connecting_; }
  bool is_open() const { return connection_ != nullptr && connection_->is_open(); }
  // Returns the connection. May be called only after on_open and before the end of on_close.
  Connection& connection() const { return *connection_; }
  HttpResponseParser& parser() { return parser_; }

  HttpOrigin& origin;
  TimePoint idle_since{};

 private:
  ConnectionCallbacks callbacks();
  void opened(Connection& connection);
  // Called when the connection, its tunnel and its layer are ready. Calls HttpPool::opened(), so that requests are
  // sent.
  void ready();

  // These functions are defined in http_link_tunnel.cc.
  void ask_for_tunnel();
  void take_tunnel_answer(Buffer& input);
  void tunnel_failed(std::error_code error);

  void received(Connection& connection, Buffer& input);
  void peer_ended();
  void writable();
  void closed(CloseReason reason);
  // Removes this link from the pool. If the link carries a fetch, calls connection_lost() of that fetch afterwards.
  void report_end(std::error_code error);

  const std::weak_ptr<HttpPool> pool_;
  HttpResponseParser parser_;
  std::unique_ptr<Client> client_;
  Connection* connection_ = nullptr;  // null before on_open and after on_close
  HttpFetch* fetch_ = nullptr;        // the fetch that this link carries
  std::string tunnel_answer_;         // the part of the proxy's answer to CONNECT that has arrived
  TimerId tunnel_timer_;
  uint64_t carried_ = 0;        // how many fetches this link has carried
  bool connecting_ = true;      // until ready() was called
  bool awaits_tunnel_ = false;  // CONNECT was sent, the answer is not complete
  bool awaits_rest_ = false;    // await_rest() was called, the kernel has not taken all bytes
};

}  // namespace peal::detail
