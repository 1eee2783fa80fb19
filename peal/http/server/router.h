// SPDX-License-Identifier: BSD-3-Clause
// Router: which handler answers a request, by its path and method.
//
//   peal::Router router;
//   router.get("/users/{id}", show_user);
//   router.post("/users", add_user, {.body_limit_bytes = 4096});
//   router.get("/files/{path*}", send_file);
//
// A pattern is segments between slashes: literal, `{name}`, which takes any one segment that is not empty, or, last,
// `{name*}`, which takes the rest of the path, empty included. Where several fit, a literal segment comes before a
// parameter and that before a rest, from the left; the order in which they were added does not matter. What is compared
// is the request's path as normalize_http_path() makes it, decoded and without dots; a path it refuses is answered 400.
// `/a` and `/a/` are two paths. `{name:uint}` and `{name:int}` take what is such a number of 64 bits and nothing else,
// and come before `{name}`.
//
// CONNECT asks for a tunnel (RFC 9110 9.3.6). It has no path and goes to `/`, to a handler that was added for CONNECT
// by name, never to one for any method; where there is none it is answered 501. The handler answers upgrade(""); a
// 2xx by other means goes out without a length and a body. The connection ends with the answer, or with the tunnel.
//
// HEAD is answered by the handler of GET, without the body, unless there is one of its own. OPTIONS is answered with
// Allow, unless there is a handler; `OPTIONS *` always is. A path that fits no pattern: 404. One that does, but not
// with this method: 405 with Allow, also where there is a rest for any method, `any("/{path*}", ...)`: that is for the
// paths that nobody else knows. A rest with a handler for this very method does take it.
//
// What many routes have in common goes into middleware (http_handler.h), for all of them or for a group:
//
//   router.use(peal::request_ids());
//   peal::RouteGroup api = router.group("/api");
//   api.use(peal::bearer_auth(is_known));
//   api.get("/items/{id:uint}", show_item);  // GET /api/items/7: request_ids, bearer_auth, show_item
//
// The router's own answers go through middleware too: 413 to a body that is announced too long through that of its
// route, 405 and OPTIONS through that of the path's first route, the others (404, 400 to a path that is none, 501 to
// CONNECT, `OPTIONS *`) through that of the whole router.
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
  // A longer body is answered 413, without being read where its length is announced. 0: the server's (HttpLimits).
  uint64_t body_limit_bytes = 0;
};

namespace detail {
class HttpCore;
class RouteTree;
struct RouteGroupParts;
}  // namespace detail

// Routes under one prefix that share middleware. A group is a name for them: it may be copied, and go. Routes are added
// until the server takes the router: std::logic_error after that.
class RouteGroup {
 public:
  // What stands around every handler of this group and of the groups in it, whenever they are added; whoever was added
  // first stands outermost, and the group's outside of those of groups in it.
  void use(HttpMiddleware middleware);
  // A group in this one, whose patterns begin with `prefix`: "/api", or "" for those that share middleware alone.
  RouteGroup group(std::string_view prefix);

  // A pattern that is not well formed, does not begin with a slash or has a handler for this method already is refused:
  // std::invalid_argument, and nothing is added. In a group with a prefix "" is a pattern too: the prefix itself.
  void get(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void post(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void put(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void patch(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void del(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  void options(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  // Any method that has none of its own, also those nobody knows, but not CONNECT.
  void any(std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});
  // `method` as it stands in the request, case and all.
  void add(std::string_view method, std::string_view pattern, HttpHandler handler, const RouteOptions& options = {});

 protected:
  RouteGroup(const std::shared_ptr<detail::RouteTree>& tree, detail::RouteGroupParts& parts);
  std::shared_ptr<detail::RouteTree> tree() const;

 private:
  std::weak_ptr<detail::RouteTree> tree_;
  detail::RouteGroupParts* parts_;  // the tree's
};

// The group of all routes.
class Router : public RouteGroup {
 public:
  Router();
  // Every request to one handler, but for CONNECT.
  explicit Router(HttpHandler handler);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  Router(Router&&) noexcept = default;
  Router& operator=(Router&&) noexcept = default;
  ~Router() = default;

  // Writes the answers that no handler gives, and those of respond(status) alone, of status 400 and above:
  // respond(status, ...), once, before it returns. The request may be no more than what could be read of it. Without
  // one they are a line of HTML.
  void error_page(SharedCallback<void(HttpExchange&, int status)> page);

 private:
  friend class detail::HttpCore;
  explicit Router(std::shared_ptr<detail::RouteTree> tree);

  std::shared_ptr<detail::RouteTree> owned_tree_;
};

}  // namespace peal
