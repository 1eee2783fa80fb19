// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/http_proxy.h>

#include <cstdlib>
#include <initializer_list>

#include <peal/http/client/http_trouble.h>
#include <peal/http/client/parts/http_proxy_rules.h>

namespace peal {
namespace {

// Returns the value of the first environment variable in `names` that is set and not empty. Returns an empty string if
// there is none.
std::string from_any(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

}  // namespace

Result<HttpProxies> HttpProxies::from_environment() {
  HttpProxies proxies{.http = from_any({"http_proxy", "all_proxy", "ALL_PROXY"}),
                      .https = from_any({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}),
                      .direct = from_any({"no_proxy", "NO_PROXY"})};
  for (const std::string& text : {proxies.http, proxies.https}) {
    if (!text.empty() && !detail::HttpProxy::parse(text)) return fail(HttpTrouble::kBadProxy);
  }
  return proxies;
}

}  // namespace peal
