// SPDX-License-Identifier: BSD-3-Clause
// RouteTree: the patterns of a Router, as a tree of their segments. Built before the server runs; then only read, by
// any number of loops, but for the handlers it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/http/server/router.h>

namespace peal::detail {

class RouteTree {
 public:
  // One handler for one pattern.
  struct Route {
    std::string method;  // empty: any
    HttpMethod known;    // which it is; kOther also for those that have no name here, and for any
    HttpHandler handler;
    RouteOptions options;
    std::vector<std::string> names;  // of its parameters, from the left
  };
  struct Match {
    Route* route = nullptr;
    bool known_path = false;  // some pattern fits, whatever the method
    std::string allow;        // the value of Allow, where no route was found for a known path
  };

  void add(std::string_view method, std::string_view pattern, HttpHandler handler, const RouteOptions& options);
  // The route of a pattern without parameters for a path as it was sent, or null: then match() tells more. Nothing
  // outranks such a pattern, and a path that is one has nothing that normalizing would change.
  Route* literal(const HttpRequestHead& head) {
    const auto found = literals_.find(head.path());
    if (found == literals_.end()) return nullptr;
    Route& first = found->second->routes.front();
    if (first.known == head.method() && first.known != HttpMethod::kOther) return &first;
    return find(*found->second, head);
  }
  // Fills the parameters of `exchange`, whose path has been normalized to `path`, a view that outlives them.
  Match match(HttpExchange& exchange, std::string_view path);

  SharedCallback<void(HttpExchange&, int status)> error_page;

 private:
  struct Node {
    std::vector<std::pair<std::string, std::unique_ptr<Node>>> literals;
    std::unique_ptr<Node> parameter;
    std::unique_ptr<Node> rest;  // has routes only
    std::vector<Route> routes;
    std::string pattern;  // where it has no parameter
  };
  struct Search {
    HttpExchange& exchange;            // its parameters' values are filled on the way
    std::vector<const Node*> fitting;  // patterns without a handler for the method
    size_t value_count = 0;

    void take(std::string_view value) { exchange.parameters_[value_count++].value = value; }
  };

  static Route* find(Node& node, const HttpRequestHead& head);
  static Route* search(Node& node, std::string_view path, Search& search);
  static std::string allowed(const std::vector<const Node*>& nodes);
  Node& place(std::string_view pattern, std::vector<std::string>& names);

  Node root_;
  std::unordered_map<std::string_view, Node*> literals_;  // whole paths, which the nodes hold
};

}  // namespace peal::detail
