// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/route_tree.h>

#include <algorithm>

#include <peal/base/bad_value.h>
#include <peal/wire/uri/http_path.h>

namespace peal::detail {

static constexpr size_t kMostPatternBytes = 8192;

void RouteTree::add(std::string_view method, std::string_view pattern, HttpHandler handler,
                    const RouteOptions& options) {
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
  node.routes.push_back({std::string(method), http_method(method), std::move(handler), options, std::move(names)});
}

// Finds the node of a pattern, or makes it.
RouteTree::Node& RouteTree::place(std::string_view pattern, std::vector<std::string>& names) {
  if (!pattern.starts_with('/')) throw_bad_value("the pattern '{}' does not begin with a slash", pattern);
  if (pattern.size() > kMostPatternBytes) throw_bad_value("a pattern of {} bytes", pattern.size());
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
    std::string_view name = segment.substr(1, segment.size() - 2);
    const bool rest = name.ends_with('*');
    if (rest) name.remove_suffix(1);
    if (name.empty() || name.find_first_of("{}*") != std::string_view::npos || (rest && !left.empty())) {
      throw_bad_value("the segment '{}' of the pattern {} is no parameter", segment, pattern);
    }
    if (names.size() == HttpExchange::kMostParameters) {
      throw_bad_value("more than {} parameters in the pattern {}", names.size(), pattern);
    }
    names.emplace_back(name);
    std::unique_ptr<Node>& child = rest ? node->rest : node->parameter;
    if (!child) child = std::make_unique<Node>();
    node = child.get();
  }
  return *node;
}

// Its own method first, GET's for HEAD, then any, but not for CONNECT: it asks for a tunnel, and who answers 2xx to it
// without knowing that makes two readers of one connection disagree (RFC 9110 9.3.6).
RouteTree::Route* RouteTree::find(Node& node, const HttpRequestHead& head) {
  const HttpMethod method = head.method();
  Route* other = nullptr;
  for (Route& route : node.routes) {
    if (route.known == method && (method != HttpMethod::kOther || route.method == head.method_text())) return &route;
    if (route.method.empty() && other == nullptr && method != HttpMethod::kConnect) other = &route;
    if (method == HttpMethod::kHead && route.known == HttpMethod::kGet) other = &route;
  }
  return other;
}

// `path` is empty or begins with the slash before the next segment.
RouteTree::Route* RouteTree::search(Node& node, std::string_view path, Search& search) {
  if (path.empty()) {
    if (node.routes.empty()) return nullptr;
    Route* route = find(node, search.exchange.request());
    if (route == nullptr) search.fitting.push_back(&node);
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
  if (node.parameter && !segment.empty()) {
    search.take(segment);
    if (Route* route = RouteTree::search(*node.parameter, behind, search)) return route;
    search.value_count = count;
  }
  if (!node.rest) return nullptr;
  search.take(segments);
  Route* route = RouteTree::search(*node.rest, {}, search);
  if (route == nullptr) search.value_count = count;
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
  return match;
}

std::string RouteTree::allowed(const std::vector<const Node*>& nodes) {
  std::vector<std::string_view> methods;
  for (const Node* node : nodes) {
    for (const Route& route : node->routes) {
      methods.push_back(route.method);
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
