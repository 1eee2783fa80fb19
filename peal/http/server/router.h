// SPDX-License-Identifier: BSD-3-Clause
// Router: chooses the handler for a request, by the request's path and method.
//
//   peal::Router router;
//   router.get("/users/{id}", show_user);
//   router.post("/users", add_user, {.body_limit_bytes = 4096});
//   router.get("/files/{path*}", send_file);
//
// A pattern is a list of segments, each after a slash:
// - a literal segment matches itself;
// - `{name}` matches any one segment that is not empty;
// - `{name:uint}` and `{name:int}` match a segment that is such a number of 64 bits, and are tried before `{name}`;
// - `{name*}`, as the last segment, matches the rest of the path, which may be empty.
//
// If several patterns match, a literal segment is preferred to a parameter, and a parameter to a rest, from left to
// right. The order in which patterns were added does not matter. Patterns are compared with the path that
// normalize_http_path() makes: decoded, and without dot segments. A path that it refuses is answered 400. `/a` and
// `/a/` are two paths.
//
// CONNECT asks for a tunnel (RFC 9110 9.3.6) and has no path; it is routed as `/`. Only a handler that was added for
// the method CONNECT gets it, never one for any method. Without such a handler CONNECT is answered 501. The handler
// answers by upgrade(""). A 2xx that it sends by other functions has neither length nor body. The connection is closed
// after the answer, or when the tunnel ends.
//
// The router answers by itself in these cases:
// - HEAD without a handler is passed to the handler of GET; the body is not sent.
// - OPTIONS without a handler is answered with Allow. `OPTIONS *` always is.
// - A path that matches no pattern is answered 404.
// - A path that matches a pattern, but not with this method, is answered 405 with Allow. A rest for any method, such as
//   `any("/{path*}", ...)`, does not take such a request: it is for paths that match no other pattern. A rest with a
//   handler for the very method does take it.
//
// Code that many routes share belongs into middleware (http_handler.h), of the router or of a group:
//
//   router.use(peal::request_ids());
//   peal::RouteGroup api = router.group("/api");
//   api.use(peal::bearer_auth("items", user_of));
//   api.get("/items/{id:uint}", show_item);  // GET /api/items/7: request_ids, bearer_auth, show_item
//
// The router's own answers pass through middleware too:
// - 413 to a declared length above the limit: through the middleware of the route;
// - 405 and OPTIONS: through that of the path's first route;
// - 404, 400 to a malformed path, 501 to CONNECT, and `OPTIONS *`: through that of the whole router.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <peal/base/callback.h>
#include <peal/http/server/http_handler.h>

namespace peal {

struct RouteOptions {
  // Limit of the request's body, in bytes. A longer body is answered 413. If its length is declared, the body is not
  // read. 0: HttpServerOptions::limits applies.
  uint64_t body_limit_bytes = 0;
};

namespace detail {
class HttpCore;
class RouteTree;
struct RouteGroupParts;
}  // namespace detail

// RouteGroup: routes under one prefix that share middleware. A RouteGroup is a reference to the routes and may be
// copied and destroyed. Routes can be added until a server takes the router. Adding a route later throws
// std::logic_error.
class RouteGroup {
 public:
  // Adds middleware around every handler of this group and of the groups in it, including handlers that are added
  // later. The middleware that was added first is called first. The middleware of a group is called before the
  // middleware of the groups in it.
  void use(HttpMiddleware middleware);

  // Returns a group inside this one, whose patterns begin with `prefix`, such as "/api". The prefix "" makes a group
  // that only shares middleware.
  RouteGroup group(std::string_view prefix);

  // Each of these functions adds a handler for the method after which it is named. They throw std::invalid_argument,
  // and add nothing, if the pattern
  // - is malformed;
  // - does not begin with a slash; in a group with a prefix, "" is allowed and means the prefix itself;
  // - already has a handler for the method.
  void get(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void post(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void put(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void patch(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void del(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void options(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});

  // Adds a handler for every method, known or unknown, for which the pattern has no handler of its own. CONNECT is
  // excepted.
  void any(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});

  // Adds a handler for `method`, which is compared with the request case-sensitively.
  void add(std::string_view method, std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});

 protected:
  RouteGroup(const std::shared_ptr<detail::RouteTree>& tree, detail::RouteGroupParts& parts);
  std::shared_ptr<detail::RouteTree> tree() const;

 private:
  std::weak_ptr<detail::RouteTree> tree_;
  detail::RouteGroupParts* parts_;  // owned by the tree
};

// Router: the group of all routes. The constructor of HttpServer takes it over.
class Router : public RouteGroup {
 public:
  Router();

  // Routes every request except CONNECT to one handler.
  explicit Router(HttpHandler handler);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  Router(Router&&) noexcept = default;
  Router& operator=(Router&&) noexcept = default;
  ~Router() = default;

  // Sets the function that writes error pages. An error page is an answer with a status of at least 400 that no handler
  // gives, or that a handler gives by respond(status). The function must call respond(status, ...) once before it
  // returns. exchange.request() may have only the part of the request that could be read. Without this function an
  // error page is a line of HTML.
  void error_page(SharedCallback<void(HttpExchange&, int status)> page);

 private:
  friend class detail::HttpCore;
  explicit Router(std::shared_ptr<detail::RouteTree> tree);

  std::shared_ptr<detail::RouteTree> owned_tree_;
};

}  // namespace peal
