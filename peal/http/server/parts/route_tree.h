// SPDX-License-Identifier: BSD-3-Clause
// RouteTree: the patterns of a Router, as a tree of their segments. Built before the server runs; then only read, by
// any number of loops, but for the handlers it holds.
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
#include <peal/http/server/router.h>

namespace peal::detail {

// What a RouteGroup names.
struct RouteGroupParts {
  const RouteGroupParts* outer = nullptr;
  std::string prefix;  // the outer ones' included
  std::deque<HttpMiddleware> middleware;
  std::optional<HttpHandler> by_router;  // the group's middleware around the router's own answers; none: it has none
};

class RouteTree {
 public:
  // One handler for one pattern.
  struct Route {
    std::string method;  // empty: any
    HttpMethod known;    // which it is; kOther also for those that have no name here, and for any
    HttpHandler handler;
    RouteOptions options;
    std::vector<std::string> names;  // of its parameters, from the left
    const RouteGroupParts* group;
  };
  struct Match {
    Route* route = nullptr;
    // Where there is none:
    bool known_path = false;                 // some pattern fits, whatever the method
    std::string allow;                       // the value of Allow, where it is known
    const RouteGroupParts* group = nullptr;  // whose middleware the answer goes through
  };

  RouteTree() { groups_.emplace_back(); }

  RouteGroupParts& root_group() { return groups_.front(); }
  RouteGroupParts& add_group(const RouteGroupParts& outer, std::string_view prefix);
  void add(const RouteGroupParts& group, std::string_view method, std::string_view pattern, HttpHandler handler,
           const RouteOptions& options);
  // No more is added: middleware goes around handlers, and around `by_router`, which answers what no handler does.
  void seal(void (*by_router)(HttpExchange&));
  bool sealed() const { return sealed_; }
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
  // Of a parameter, in the order they are tried.
  enum Kind : uint8_t { kUint, kInt, kText };
  struct Node {
    std::vector<std::pair<std::string, std::unique_ptr<Node>>> literals;
    std::array<std::unique_ptr<Node>, 3> parameters;  // by Kind
    std::unique_ptr<Node> rest;                       // has routes only
    std::vector<Route> routes;
    std::string pattern;  // where it has no parameter
  };
  struct Search {
    HttpExchange& exchange;            // its parameters' values are filled on the way
    std::vector<const Node*> fitting;  // patterns without a handler for the method
    size_t value_count = 0;

    void take(std::string_view value) { exchange.parameters_[value_count++].value = value; }
  };

  static Route* find(Node& node, const HttpRequestHead& head, bool takes_any = true);
  static bool fits(Kind kind, std::string_view segment);
  static Route* search(Node& node, std::string_view path, Search& search);
  static bool has_resource(const Node& node);
  static std::string allowed(const std::vector<const Node*>& nodes);
  static std::unique_ptr<Node>& parameter_of(Node& node, std::string_view name, std::string_view pattern,
                                             std::vector<std::string>& names);
  Node& place(std::string_view pattern, std::vector<std::string>& names);
  static HttpChain chain_of(const RouteGroupParts& group, HttpHandler handler);
  static void seal(Node& node);

  std::deque<RouteGroupParts> groups_;  // the first is the router itself
  bool sealed_ = false;
  Node root_;
  std::unordered_map<std::string_view, Node*> literals_;  // whole paths, which the nodes hold
};

}  // namespace peal::detail
