// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/middleware/cors.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/ranges.h>

#include <peal/base/bad_value.h>
#include <peal/wire/http/http_field.h>

namespace peal {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (!is_sendable({"x", list})) throw_bad_value("'{}' has characters that no field may hold", list);
  return list;
}

class Cors {
 public:
  explicit Cors(const CorsOptions& options)
      : origins_(options.origins),
        methods_(list_of(options.methods)),
        headers_(list_of(options.headers)),
        exposed_(list_of(options.exposed)),
        max_age_(std::to_string(options.max_age.count())),
        credentials_(options.credentials) {
    const std::string all = list_of(origins_);
    any_ = std::ranges::find(origins_, "*") != origins_.end();
    // If a request has credentials, browsers read "*" as a name and not as "all" (the Fetch standard, 3.3.5).
    const bool stars = any_ || headers_ == "*" || exposed_ == "*";
    if (origins_.empty() || (any_ && origins_.size() > 1) || (credentials_ && stars)) {
      throw_bad_value("cors for the origins '{}'{}", all, credentials_ ? " with credentials" : "");
    }
    if (options.max_age < std::chrono::seconds::zero()) throw_bad_value("cors remembered for {} s", max_age_);
  }

  void operator()(HttpExchange& exchange, HttpNext next) const {
    const HttpRequestHead& head = exchange.request();
    const std::optional<std::string_view> origin = head.find("Origin");
    if (!any_)
      exchange.set_field("Vary",
                         "Origin");  // also if the request has no Origin: a cache may serve this answer to one that has
    const bool allowed = origin && (any_ || std::ranges::find(origins_, *origin) != origins_.end());
    if (allowed) allow(exchange, *origin);
    const bool preflight =
        origin && head.method() == HttpMethod::kOptions && head.find("Access-Control-Request-Method").has_value();
    if (!preflight) return next(exchange);
    if (!allowed) return exchange.respond(403);
    exchange.set_field("Access-Control-Allow-Methods", methods_);
    if (!headers_.empty()) exchange.set_field("Access-Control-Allow-Headers", headers_);
    exchange.set_field("Access-Control-Max-Age", max_age_);
    exchange.respond(204);
  }

 private:
  void allow(HttpExchange& exchange, std::string_view origin) const {
    exchange.set_field("Access-Control-Allow-Origin", any_ ? "*" : origin);
    if (credentials_) exchange.set_field("Access-Control-Allow-Credentials", "true");
    if (!exposed_.empty()) exchange.set_field("Access-Control-Expose-Headers", exposed_);
  }

  const std::vector<std::string> origins_;
  const std::string methods_;
  const std::string headers_;
  const std::string exposed_;
  const std::string max_age_;
  const bool credentials_;
  bool any_;
};

}  // namespace

HttpMiddleware cors(const CorsOptions& options) {
  return [cors = std::make_shared<const Cors>(options)](HttpExchange& exchange, HttpNext next) {
    (*cors)(exchange, next);
  };
}

}  // namespace peal
