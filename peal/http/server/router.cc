// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/router.h>

#include <stdexcept>

#include <peal/http/server/parts/route_tree.h>

namespace peal {

RouteGroup::RouteGroup(const std::shared_ptr<detail::RouteTree>& tree, detail::RouteGroupParts& parts)
    : tree_(tree), parts_(&parts) {}

std::shared_ptr<detail::RouteTree> RouteGroup::tree() const {
  auto tree = tree_.lock();
  if (!tree || tree->sealed())
    throw std::logic_error("routes and middleware are added before a server takes the router");
  return tree;
}

void RouteGroup::use(HttpMiddleware middleware) {
  const auto alive = tree();
  parts_->middleware.push_back(std::move(middleware));
}

RouteGroup RouteGroup::group(std::string_view prefix) {
  const auto alive = tree();
  return {alive, alive->add_group(*parts_, prefix)};
}

void RouteGroup::add(std::string_view method, std::string_view pattern, HttpHandler handler,
                     const RouteOptions& options) {
  tree()->add(*parts_, method, pattern, std::move(handler), options);
}
void RouteGroup::get(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("GET", pattern, std::move(handler), options);
}
void RouteGroup::post(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("POST", pattern, std::move(handler), options);
}
void RouteGroup::put(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("PUT", pattern, std::move(handler), options);
}
void RouteGroup::patch(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("PATCH", pattern, std::move(handler), options);
}
void RouteGroup::del(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("DELETE", pattern, std::move(handler), options);
}
void RouteGroup::options(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("OPTIONS", pattern, std::move(handler), options);
}
void RouteGroup::any(std::string_view pattern, HttpHandler handler, const RouteOptions& options) {
  add("", pattern, std::move(handler), options);
}

Router::Router() : Router(std::make_shared<detail::RouteTree>()) {}
Router::Router(HttpHandler handler) : Router() { any("/{path*}", std::move(handler)); }
Router::Router(std::shared_ptr<detail::RouteTree> tree)
    : RouteGroup(tree, tree->root_group()), owned_tree_(std::move(tree)) {}

void Router::error_page(SharedCallback<void(HttpExchange&, int status)> page) { tree()->error_page = std::move(page); }

}  // namespace peal
