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
// `/a` and `/a/` are two paths.
//
// CONNECT asks for a tunnel (RFC 9110 9.3.6). It has no path and goes to `/`, to a handler that was added for CONNECT
// by name, never to one for any method; where there is none it is answered 501. The handler answers upgrade(""); a
// 2xx by other means goes out without a length and a body. The connection ends with the answer, or with the tunnel.
//
// HEAD is answered by the handler of GET, without the body, unless there is one of its own. OPTIONS is answered with
// Allow, unless there is a handler; `OPTIONS *` always is. A path that fits no pattern: 404. One that does, but not
// with this method: 405 with Allow.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/coro/task.h>
#include <peal/http/server/http_exchange.h>

namespace peal {

namespace detail {
class HttpCore;
}  // namespace detail

namespace detail {
template <class Answer>
concept HandlerAnswer = std::is_void_v<Answer> || std::same_as<Answer, Task<>>;
}  // namespace detail

// What answers requests: void(HttpExchange&), or a coroutine, Task<>(HttpExchange&). With several loops it is called on
// several threads at once, so no `mutable` lambda is taken. It lives until the last exchange has ended.
class HttpHandler {
 public:
  template <class Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, HttpHandler> &&
             std::invocable<std::decay_t<Function>&, HttpExchange&>)
  HttpHandler(Function&& function) {  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
    using Answer = std::invoke_result_t<std::decay_t<Function>&, HttpExchange&>;
    static_assert(
        detail::HandlerAnswer<Answer>,
        "an HTTP handler returns void or, a coroutine, Task<>: any other result would be lost, and a Task<int> "
        "never run");
    static_assert(std::invocable<const std::decay_t<Function>&, HttpExchange&>,
                  "an HTTP handler is called by several loops at once: it is no mutable lambda");
    if constexpr (std::same_as<Answer, Task<>>) {
      call_ = [function = std::forward<Function>(function)](HttpExchange& exchange) {
        exchange.run(function(exchange));
      };
    } else {
      call_ = std::forward<Function>(function);
    }
  }
  void operator()(HttpExchange& exchange) const { call_(exchange); }

 private:
  SharedCallback<void(HttpExchange&)> call_;
};

struct RouteOptions {
  // A longer body is answered 413, without being read where its length is announced. 0: the server's (HttpLimits).
  uint64_t body_limit_bytes = 0;
};

class Router {
 public:
  Router();
  // Every request to one handler, but for CONNECT.
  explicit Router(HttpHandler handler);
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  // A pattern that is not well formed, does not begin with a slash or has a handler for this method already is refused:
  // std::invalid_argument, and nothing is added.
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

  // Writes the answers that no handler gives, of status 400 and above: respond(status, ...), once, before it returns.
  // The request may be no more than what could be read of it. Without one they are a line of HTML.
  void error_page(SharedCallback<void(HttpExchange&, int status)> page);

 private:
  friend class detail::HttpCore;
  std::unique_ptr<detail::RouteTree> tree_;
};

}  // namespace peal
