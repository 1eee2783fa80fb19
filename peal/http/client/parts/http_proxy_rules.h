// SPDX-License-Identifier: BSD-3-Clause
// HttpProxies, understood: which proxy a URL is reached by. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/http/client/http_proxy.h>
#include <peal/net/host_port.h>
#include <peal/wire/uri/http_url.h>

namespace peal::detail {

struct HttpProxy {
  // Nothing where the text is none that HttpProxies takes.
  static std::optional<HttpProxy> parse(std::string_view text);

  HostPort place;
  std::string authorization;  // the value of Proxy-Authorization; empty: none
};

class HttpProxyRules {
 public:
  // Throws std::invalid_argument.
  explicit HttpProxyRules(const HttpProxies& proxies);

  // Null: none.
  const HttpProxy* find(const HttpUrl& url) const;
  bool has_any() const { return http_ || https_; }

 private:
  struct Direct {
    std::string host;  // in lower case, without a dot in front; an address: its bytes
    bool is_address = false;
    unsigned prefix_bits = 0;  // of an address
    uint16_t port = 0;         // 0: any
  };

  static std::optional<Direct> read_direct(std::string_view text);
  static bool matches(const Direct& direct, const HttpUrl& url);

  std::optional<HttpProxy> http_;
  std::optional<HttpProxy> https_;
  std::vector<Direct> direct_;
  bool all_direct_ = false;
};

}  // namespace peal::detail
