// SPDX-License-Identifier: BSD-3-Clause
// HttpProxyRules: HttpProxies in parsed form. Decides which proxy is used for a URL. Pure.
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
  // Parses the address of a proxy. Returns nullopt if the text does not have the form that HttpProxies describes.
  static std::optional<HttpProxy> parse(std::string_view text);

  HostPort place;
  std::string authorization;  // the value of Proxy-Authorization; empty if the text has no name and password
};

class HttpProxyRules {
 public:
  // Throws std::invalid_argument if a proxy's text is not valid.
  explicit HttpProxyRules(const HttpProxies& proxies);

  // Returns the proxy for the URL, or null if the URL's host is reached without a proxy.
  const HttpProxy* find(const HttpUrl& url) const;
  bool has_any() const { return http_ || https_; }

 private:
  // One entry of HttpProxies::direct: a host or a network that is reached without a proxy.
  struct Direct {
    std::string host;  // a name in lower case without a dot in front, or the bytes of an address
    bool is_address = false;
    unsigned prefix_bits = 0;  // the length of the network's prefix, if this is an address
    uint16_t port = 0;         // 0 means every port
  };

  static std::optional<Direct> read_direct(std::string_view text);
  static bool matches(const Direct& direct, const HttpUrl& url);

  std::optional<HttpProxy> http_;
  std::optional<HttpProxy> https_;
  std::vector<Direct> direct_;
  bool all_direct_ = false;
};

}  // namespace peal::detail
