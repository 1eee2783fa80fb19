// SPDX-License-Identifier: BSD-3-Clause
// RouteTree: the patterns of a Router, as a tree of their segments. It is built before the server runs. After that it
// is only read, by all loops at once. The handlers that it holds are called by all loops too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/http/server/route_stats.h>
#include <peal/http/server/router.h>

namespace peal::detail {

// RouteGroupParts: the data of a group, to which RouteGroup objects refer.
struct RouteGroupParts {
  const RouteGroupParts* outer = nullptr;
  std::string prefix;  // includes the prefixes of the outer groups
  std::deque<HttpMiddleware> middleware;
  // Handler that gives the router's own answers, such as 404, inside the group's middleware. nullopt if there is no
  // middleware.
  std::optional<HttpHandler> by_router;
};

class RouteTree {
 public:
  // Route: a handler for a pattern and a method.
  struct Route {
    std::string method;  // empty: any method
    HttpMethod known;    // the method as an enumerator; kOther for any method, and for a method without enumerator
    HttpHandler handler;
    RouteOptions options;
    std::vector<std::string> names;  // names of the pattern's parameters, from the left
    const RouteGroupParts* group;
    uint32_t number;  // counts the routes from 1, in the order in which they were added
  };
  struct Name {
    std::string method;  // empty: any method
    std::string pattern;
  };
  struct Match {
    Route* route = nullptr;
    // The following members are set only if `route` is null.
    bool known_path = false;                 // true if a pattern matches the path, with another method
    std::string allow;                       // value of the Allow field, if known_path
    const RouteGroupParts* group = nullptr;  // group whose middleware the answer passes through
  };

  RouteTree() { groups_.emplace_back(); }

  RouteGroupParts& root_group() { return groups_.front(); }

  // add_group() adds a group and add() adds a route, as the functions of RouteGroup do. Both throw
  // std::invalid_argument if the prefix or the pattern is invalid.
  RouteGroupParts& add_group(const RouteGroupParts& outer, std::string_view prefix);
  void add(const RouteGroupParts& group, std::string_view method, std::string_view pattern, HttpHandler handler,
           const RouteOptions& options);

  // Ends the adding of routes. Wraps the middleware around the handlers, and around `by_router`, which answers requests
  // that no handler takes.
  void seal(void (*by_router)(HttpExchange&));

  bool sealed() const { return sealed_; }

  // The first kMostNumbers routes have a number each. All further ones share the next number, and the pattern
  // kMoreRoutes. So the figures of a router with very many routes take neither much memory nor much time to read.
  static constexpr size_t kMostNumbers = 500;
  // Returns the methods and patterns of all routes. The route with the number n is at n - 1.
  const std::vector<Name>& names() const { return names_; }

  // Returns the route whose pattern has no parameters and equals the path as it was sent. Null if there is no such
  // route; match() must then decide. No other pattern is preferred to a pattern without parameters, and normalizing
  // would not change such a path.
  Route* literal(const HttpRequestHead& head) {
    const auto found = literals_.find(head.path());
    if (found == literals_.end()) return nullptr;
    Route& first = found->second->routes.front();
    if (first.known == head.method() && first.known != HttpMethod::kOther) return &first;
    return find(*found->second, head);
  }

  // Finds the route for `path` and sets the parameters of `exchange`. `path` is the normalized path of the request. The
  // parameters are views into `path`.
  Match match(HttpExchange& exchange, std::string_view path);

  // Function that writes error pages. Null unless Router::error_page() was called.
  SharedCallback<void(HttpExchange&, int status)> error_page;

 private:
  // Kinds of parameters, in the order in which a search tries them.
  enum Kind : uint8_t { kUint, kInt, kText };
  struct Node {
    std::vector<std::pair<std::string, std::unique_ptr<Node>>> literals;
    std::array<std::unique_ptr<Node>, 3> parameters;  // indexed by Kind
    std::unique_ptr<Node> rest;                       // for `{name*}`; has routes only
    std::vector<Route> routes;
    std::string pattern;  // the whole pattern, if it has no parameter and the path needs no normalizing
  };
  struct Search {
    HttpExchange& exchange;            // values of its parameters are set during the search
    std::vector<const Node*> fitting;  // nodes that match the path, but have no handler for the method
    size_t value_count = 0;

    void take(std::string_view value) { exchange.parameters_[value_count++].value = value; }
  };

  // Returns the route of a node for the request's method, or null. `takes_any`: true if a route for any method may be
  // returned.
  static Route* find(Node& node, const HttpRequestHead& head, bool takes_any = true);

  static bool fits(Kind kind, std::string_view segment);
  static Route* search(Node& node, std::string_view path, Search& search);

  // True if the node has a route for a method other than CONNECT.
  static bool has_resource(const Node& node);

  // Returns the value of the Allow field for a path that matches these nodes.
  static std::string allowed(const std::vector<const Node*>& nodes);
  static std::unique_ptr<Node>& parameter_of(Node& node, std::string_view name, std::string_view pattern,
                                             std::vector<std::string>& names);

  // Returns the node at which the pattern ends, and makes it if needed. Adds the names of the pattern's parameters to
  // `names`.
  Node& place(std::string_view pattern, std::vector<std::string>& names);

  // Returns the handler with the middleware of the group and of its outer groups.
  static HttpChain chain_of(const RouteGroupParts& group, HttpHandler handler);
  static void seal(Node& node);

  std::deque<RouteGroupParts> groups_;  // the first one is the router itself
  bool sealed_ = false;
  std::vector<Name> names_;
  Node root_;
  std::unordered_map<std::string_view, Node*> literals_;  // by the whole path, whose text the node holds
};

}  // namespace peal::detail
