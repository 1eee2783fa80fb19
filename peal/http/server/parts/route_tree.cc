// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/route_tree.h>

#include <algorithm>

#include <peal/base/bad_value.h>
#include <peal/wire/parse_text.h>
#include <peal/wire/uri/http_path.h>

namespace peal::detail {

static constexpr size_t kMostPatternBytes = 8192;

RouteGroupParts& RouteTree::add_group(const RouteGroupParts& outer, std::string_view prefix) {
  if (!prefix.empty() && (!prefix.starts_with('/') || prefix.ends_with('/'))) {
    throw_bad_value("the prefix '{}' of a group does not begin with a slash, or ends with one", prefix);
  }
  groups_.push_back({.outer = &outer, .prefix = outer.prefix + std::string(prefix)});
  return groups_.back();
}

void RouteTree::add(const RouteGroupParts& group, std::string_view method, std::string_view behind_prefix,
                    HttpHandler handler, const RouteOptions& options) {
  const std::string pattern = group.prefix + std::string(behind_prefix);
  if (!behind_prefix.empty() && !behind_prefix.starts_with('/')) {
    throw_bad_value("the pattern '{}' does not begin with a slash", behind_prefix);
  }
  std::vector<std::string> names;
  Node& node = place(pattern, names);
  for (const Route& other : node.routes) {
    if (other.method != method) continue;
    throw_bad_value("the pattern {} has two handlers for {}", pattern, method.empty() ? "any method" : method);
  }
  std::string storage;
  if (names.empty() && node.pattern.empty() && normalize_http_path(pattern, storage) == pattern) {
    node.pattern = pattern;
    literals_.emplace(node.pattern, &node);
  }
  if (names_.size() < kMostNumbers) {
    names_.push_back({std::string(method), pattern});
  } else if (names_.size() == kMostNumbers) {
    names_.push_back({.method = {}, .pattern = std::string(kMoreRoutes)});
  }
  node.routes.push_back({std::string(method), http_method(method), std::move(handler), options, std::move(names),
                         &group, static_cast<uint32_t>(names_.size())});
}

HttpChain RouteTree::chain_of(const RouteGroupParts& group, HttpHandler handler) {
  HttpChain chain{.middleware = {}, .handler = std::move(handler)};
  for (const RouteGroupParts* each = &group; each != nullptr; each = each->outer) {
    auto at = chain.middleware.begin();
    for (const HttpMiddleware& middleware : each->middleware) at = chain.middleware.insert(at, &middleware) + 1;
  }
  return chain;
}

void RouteTree::seal(Node& node) {
  for (Route& route : node.routes) {
    HttpChain chain = chain_of(*route.group, std::move(route.handler));
    route.handler = chain.middleware.empty() ? std::move(chain.handler) : HttpHandler(std::move(chain));
  }
  for (const auto& [text, child] : node.literals) seal(*child);
  for (const auto& child : node.parameters) {
    if (child) seal(*child);
  }
  if (node.rest) seal(*node.rest);
}

void RouteTree::seal(void (*by_router)(HttpExchange&)) {
  sealed_ = true;
  for (RouteGroupParts& group : groups_) {
    HttpChain chain = chain_of(group, HttpHandler(by_router));
    if (!chain.middleware.empty()) group.by_router.emplace(std::move(chain));
  }
  seal(root_);
}

RouteTree::Node& RouteTree::place(std::string_view pattern, std::vector<std::string>& names) {
  if (!pattern.starts_with('/')) throw_bad_value("the pattern '{}' does not begin with a slash", pattern);
  if (pattern.size() > kMostPatternBytes)
    throw_bad_value("a pattern has {} bytes, more than {}", pattern.size(), kMostPatternBytes);
  Node* node = &root_;
  for (std::string_view left = pattern; !left.empty();) {
    left.remove_prefix(1);
    const std::string_view segment = left.substr(0, left.find('/'));
    left.remove_prefix(segment.size());
    const bool braces = segment.starts_with('{') && segment.ends_with('}');
    if (!braces) {
      if (segment.find_first_of("{}*?#%") != std::string_view::npos) {
        throw_bad_value("the segment '{}' of the pattern {} is neither literal nor a parameter", segment, pattern);
      }
      auto found = std::ranges::find(node->literals, segment, [](const auto& each) { return each.first; });
      if (found == node->literals.end()) {
        found = node->literals.emplace(found, std::string(segment), std::make_unique<Node>());
      }
      node = found->second.get();
      continue;
    }
    if (segment.ends_with("*}") && !left.empty()) {
      throw_bad_value("the segment '{}' of the pattern {} is no parameter: a rest comes last", segment, pattern);
    }
    std::unique_ptr<Node>& child = parameter_of(*node, segment.substr(1, segment.size() - 2), pattern, names);
    if (!child) child = std::make_unique<Node>();
    node = child.get();
  }
  return *node;
}

// Returns the pointer to the child of `node` for a parameter; it is null if the child was not made yet. `name` is the
// text between the braces of the parameter. Adds the parameter's name to `names`.
std::unique_ptr<RouteTree::Node>& RouteTree::parameter_of(Node& node, std::string_view name, std::string_view pattern,
                                                          std::vector<std::string>& names) {
  const bool rest = name.ends_with('*');
  if (rest) name.remove_suffix(1);
  const size_t colon = std::min(name.find(':'), name.size());
  const std::string_view type = name.substr(colon);
  name = name.substr(0, colon);
  const Kind kind = type == ":uint" ? kUint : type == ":int" ? kInt : kText;
  if (name.empty() || name.find_first_of("{}*") != std::string_view::npos ||
      (!type.empty() && (kind == kText || rest))) {
    throw_bad_value("'{{{}{}}}' in the pattern {} is no parameter", name, type, pattern);
  }
  if (names.size() == HttpExchange::kMostParameters) {
    throw_bad_value("more than {} parameters in the pattern {}", names.size(), pattern);
  }
  names.emplace_back(name);
  return rest ? node.rest : node.parameters.at(kind);
}

bool RouteTree::fits(Kind kind, std::string_view segment) {
  switch (kind) {
    case kUint: return parse_text<uint64_t>(segment).has_value();
    case kInt: return parse_text<int64_t>(segment).has_value();
    case kText: return !segment.empty();
  }
  return false;
}

// Chooses the route in this order:
// - the route for the method itself;
// - the route for GET, if the method is HEAD;
// - the route for any method, if `takes_any` is true.
//
// A route for any method never gets CONNECT, which asks for a tunnel. A handler that does not expect CONNECT could
// answer 2xx, and then client and server would read the connection differently (RFC 9110 9.3.6).
RouteTree::Route* RouteTree::find(Node& node, const HttpRequestHead& head, bool takes_any) {
  const HttpMethod method = head.method();
  Route* other = nullptr;
  for (Route& route : node.routes) {
    if (route.known == method && (method != HttpMethod::kOther || route.method == head.method_text())) return &route;
    if (takes_any && route.method.empty() && other == nullptr && method != HttpMethod::kConnect) other = &route;
    if (method == HttpMethod::kHead && route.known == HttpMethod::kGet) other = &route;
  }
  return other;
}

// Searches for the route below `node`. `path` is the part of the path that is not matched yet. It is empty, or begins
// with the slash before the next segment.
RouteTree::Route* RouteTree::search(Node& node, std::string_view path, Search& search) {
  if (path.empty()) {
    if (node.routes.empty()) return nullptr;
    Route* route = find(node, search.exchange.request());
    if (route == nullptr && has_resource(node)) search.fitting.push_back(&node);
    return route;
  }
  const std::string_view segments = path.substr(1);
  const size_t end = std::min(segments.find('/'), segments.size());
  const std::string_view segment = segments.substr(0, end);
  const std::string_view behind = segments.substr(end);
  for (const auto& [text, child] : node.literals) {
    if (text != segment) continue;
    if (Route* route = RouteTree::search(*child, behind, search)) return route;
    break;
  }
  const size_t count = search.value_count;
  for (const Kind kind : {kUint, kInt, kText}) {
    Node* const child = node.parameters.at(kind).get();
    if (child == nullptr || !fits(kind, segment)) continue;
    search.take(segment);
    if (Route* route = RouteTree::search(*child, behind, search)) return route;
    search.value_count = count;
  }
  if (!node.rest) return nullptr;
  // If another pattern matches this path with another method, the route for any method at `{name*}` does not take the
  // path.
  Route* route = find(*node.rest, search.exchange.request(), search.fitting.empty());
  if (route == nullptr && has_resource(*node.rest)) search.fitting.push_back(node.rest.get());
  if (route == nullptr) return nullptr;
  search.take(segments);
  return route;
}

RouteTree::Match RouteTree::match(HttpExchange& exchange, std::string_view path) {
  Search found{.exchange = exchange};
  Match match;
  match.route = search(root_, path, found);
  if (match.route != nullptr) {
    exchange.parameter_count_ = static_cast<uint8_t>(match.route->names.size());
    for (size_t i = 0; i < match.route->names.size(); ++i) exchange.parameters_[i].name = match.route->names[i];
    return match;
  }
  match.known_path = !found.fitting.empty();
  if (match.known_path) match.allow = allowed(found.fitting);
  match.group = match.known_path ? found.fitting.front()->routes.front().group : &groups_.front();
  return match;
}

// CONNECT is not counted, because a tunnel is not a resource that has other methods.
bool RouteTree::has_resource(const Node& node) {
  return std::ranges::any_of(node.routes, [](const Route& route) { return route.known != HttpMethod::kConnect; });
}

std::string RouteTree::allowed(const std::vector<const Node*>& nodes) {
  std::vector<std::string_view> methods;
  for (const Node* node : nodes) {
    for (const Route& route : node->routes) {
      if (route.known == HttpMethod::kConnect) continue;
      if (!route.method.empty()) methods.push_back(route.method);
      if (route.method == "GET") methods.emplace_back("HEAD");
    }
  }
  methods.emplace_back("OPTIONS");
  std::ranges::sort(methods);
  methods.erase(std::ranges::unique(methods).begin(), methods.end());
  std::string text;
  for (const std::string_view method : methods) {
    if (!text.empty()) text += ", ";
    text += method;
  }
  return text;
}

}  // namespace peal::detail
