// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/router.h>

#include <peal/http/server/parts/route_tree.h>

namespace peal {

Router::Router() : tree_(std::make_unique<detail::RouteTree>()) {}
Router::Router(HttpHandler handler) : Router() { any("/{path*}", std::move(handler)); }
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

void Router::add(std::string_view method, std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  tree_->add(method, pattern, std::move(handler), options);
}
void Router::get(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("GET", pattern, std::move(handler), options);
}
void Router::post(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("POST", pattern, std::move(handler), options);
}
void Router::put(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("PUT", pattern, std::move(handler), options);
}
void Router::patch(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("PATCH", pattern, std::move(handler), options);
}
void Router::del(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("DELETE", pattern, std::move(handler), options);
}
void Router::options(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("OPTIONS", pattern, std::move(handler), options);
}
void Router::any(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("", pattern, std::move(handler), options);
}

void Router::error_page(SharedCallback<void(HttpExchange&, int status)> page) { tree_->error_page = std::move(page); }

}  // namespace peal
