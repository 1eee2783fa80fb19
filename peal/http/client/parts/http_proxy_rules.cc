// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/parts/http_proxy_rules.h>

#include <arpa/inet.h>

#include <algorithm>

#include <peal/base/ascii.h>
#include <peal/base/bad_value.h>
#include <peal/wire/base64.h>
#include <peal/wire/parse_text.h>
#include <peal/wire/uri/http_path.h>

namespace peal::detail {
namespace {

constexpr std::string_view kBlanks = ", \t";

// Returns the bytes of an IPv4 or IPv6 address in network order. Returns an empty string if the text is no address.
std::string address_bytes(const std::string& text) {
  in_addr four;
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return {reinterpret_cast<const char*>(&four), sizeof(four)};
  in6_addr six;
  if (::inet_pton(AF_INET6, text.c_str(), &six) == 1) return {reinterpret_cast<const char*>(&six), sizeof(six)};
  return {};
}

bool same_bits(std::string_view a, std::string_view b, unsigned bits) {
  if (a.size() != b.size() || a.substr(0, bits / 8) != b.substr(0, bits / 8)) return false;
  if (bits % 8 == 0) return true;
  return ((a[bits / 8] ^ b[bits / 8]) & (0xff << (8 - bits % 8)) & 0xff) == 0;
}

std::optional<unsigned> read_number(std::string_view text, unsigned most) {
  const auto number = parse_text<unsigned>(text);
  return number && *number <= most ? number : std::nullopt;
}

// Returns the value of Proxy-Authorization for "name:password". Returns nullopt if the name has a colon, or if the name
// or the password has a control character (RFC 7617 2).
std::optional<std::string> basic_credentials(std::string_view user_information) {
  const size_t colon = user_information.find(':');
  std::string name;
  append_http_decoded(user_information.substr(0, colon), name, false);
  if (name.contains(':')) return std::nullopt;
  name += ':';
  if (colon != user_information.npos) append_http_decoded(user_information.substr(colon + 1), name, false);
  const auto is_control = [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; };
  if (std::ranges::any_of(name, is_control)) return std::nullopt;
  return "Basic " + base64_encode(name);
}

std::optional<HttpProxy> read_proxy(const std::string& text, std::string_view whose) {
  if (text.empty()) return std::nullopt;
  auto proxy = HttpProxy::parse(text);
  if (!proxy) throw_bad_value("HttpProxies::{} is not [http://][name:password@]host[:port]", whose);
  return proxy;
}

}  // namespace

std::optional<HttpProxy> HttpProxy::parse(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  HttpProxy proxy;
  if (const size_t mark = text.find("://"); mark != text.npos && mark < text.find_first_of("@/?#")) {
    if (to_lower(text.substr(0, mark + 3)) != kScheme) return std::nullopt;
    text.remove_prefix(kScheme.size());
  }
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  if (text.size() > authority.size() && text.substr(authority.size()) != "/") return std::nullopt;
  const size_t at = authority.rfind('@');
  if (at != authority.npos) {
    const auto credentials = basic_credentials(authority.substr(0, at));
    if (!credentials) return std::nullopt;
    proxy.authorization = *credentials;
  }
  const auto url =
      HttpUrl::parse(std::string(kScheme) + std::string(authority.substr(at == authority.npos ? 0 : at + 1)));
  if (!url) return std::nullopt;
  proxy.place = HostPort(url->host, url->port);
  return proxy;
}

HttpProxyRules::HttpProxyRules(const HttpProxies& proxies)
    : http_(read_proxy(proxies.http, "http")), https_(read_proxy(proxies.https, "https")) {
  std::string_view rest = proxies.direct;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(kBlanks), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (entry == "*") all_direct_ = true;
    // A malformed entry is ignored, as in curl. The list may come from the environment and have entries that only other
    // programs understand.
    if (auto direct = read_direct(entry)) direct_.push_back(std::move(*direct));
  }
}

std::optional<HttpProxyRules::Direct> HttpProxyRules::read_direct(std::string_view text) {
  Direct direct;
  if (text.starts_with('[')) {
    const size_t bracket = text.find(']');
    if (bracket == text.npos) return std::nullopt;
    direct.host = text.substr(1, bracket - 1);
    text.remove_prefix(bracket + 1);
  } else if (std::ranges::count(text, ':') > 1) {  // an IPv6 address without brackets, which cannot have a port
    const size_t slash = std::min(text.find('/'), text.size());
    direct.host = text.substr(0, slash);
    text.remove_prefix(slash);
  } else {
    const size_t end = std::min(text.find_first_of(":/"), text.size());
    direct.host = text.substr(0, end);
    text.remove_prefix(end);
  }
  if (std::string bytes = address_bytes(direct.host); !bytes.empty()) {
    direct.is_address = true;
    direct.prefix_bits = static_cast<unsigned>(bytes.size() * 8);
    direct.host = std::move(bytes);
  }
  if (text.starts_with('/')) {
    const size_t colon = std::min(text.find(':'), text.size());
    const auto bits = read_number(text.substr(1, colon - 1), direct.prefix_bits);
    if (!direct.is_address || !bits) return std::nullopt;
    direct.prefix_bits = *bits;
    text.remove_prefix(colon);
  }
  if (text.starts_with(':')) {
    const auto port = read_number(text.substr(1), 65535);
    if (!port || *port == 0) return std::nullopt;
    direct.port = static_cast<uint16_t>(*port);
  } else if (!text.empty()) {
    return std::nullopt;
  }
  if (direct.is_address) return direct;
  while (direct.host.starts_with('.')) direct.host.erase(0, 1);
  while (direct.host.ends_with('.')) direct.host.pop_back();
  direct.host = to_lower(direct.host);
  return direct.host.empty() ? std::nullopt : std::optional(direct);
}

bool HttpProxyRules::matches(const Direct& direct, const HttpUrl& url) {
  if (direct.port != 0 && direct.port != url.port) return false;
  if (direct.is_address) return same_bits(direct.host, address_bytes(url.host), direct.prefix_bits);
  std::string_view host = url.host;
  if (host.ends_with('.')) host.remove_suffix(1);
  if (!host.ends_with(direct.host)) return false;
  host.remove_suffix(direct.host.size());
  return host.empty() || host.ends_with('.');
}

const HttpProxy* HttpProxyRules::find(const HttpUrl& url) const {
  const std::optional<HttpProxy>& proxy = url.is_https() ? https_ : http_;
  if (!proxy || all_direct_) return nullptr;
  if (std::ranges::any_of(direct_, [&](const Direct& direct) { return matches(direct, url); })) return nullptr;
  return &*proxy;
}

}  // namespace peal::detail
