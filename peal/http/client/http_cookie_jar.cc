// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/http_cookie_jar.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include <peal/base/ascii.h>
#include <peal/wire/cookies/set_cookie.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/parse_text.h>

namespace peal {
namespace {

constexpr size_t kMostFieldBytes = 8 * 1024;
constexpr size_t kMostHostBytes = 253;  // a longer host is no name (RFC 1035 2.3.4) and has no cookies
constexpr std::string_view kHttpOnlyMark = "#HttpOnly_";

bool is_address(const std::string& host) {
  in_addr four;
  return host.contains(':') || ::inet_pton(AF_INET, host.c_str(), &four) == 1;
}

// Returns true if the host is `domain` or below it (RFC 6265bis 5.1.3). The host must be a name, not an address.
bool is_at_or_below(std::string_view host, std::string_view domain) {
  if (!host.ends_with(domain)) return false;
  return host.size() == domain.size() || host[host.size() - domain.size() - 1] == '.';
}

// Returns true if a cookie with this path applies to a request for `path` (RFC 6265bis 5.1.4).
bool path_matches(std::string_view path, std::string_view cookie_path) {
  if (!path.starts_with(cookie_path)) return false;
  return path.size() == cookie_path.size() || cookie_path.ends_with('/') || path[cookie_path.size()] == '/';
}

std::string_view path_of(const HttpUrl& url) { return std::string_view(url.target).substr(0, url.target.find('?')); }

std::string_view default_path(const HttpUrl& url) {
  const std::string_view path = path_of(url);
  return path.substr(0, std::max<size_t>(path.rfind('/'), 1));
}

}  // namespace

int64_t HttpCookieJar::now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

void HttpCookieJar::take(const HttpUrl& url, const HttpResponseHead& head, int64_t now_unix_seconds) {
  std::string_view lines = head.field_lines();
  for (HttpField field; next_http_field(lines, field);) {
    if (same_field_name(field.name, "Set-Cookie")) set(url, field.value, now_unix_seconds);
  }
}

// Implements RFC 6265bis 5.7, which says when and how a received cookie is stored.
bool HttpCookieJar::set(const HttpUrl& url, std::string_view set_cookie, int64_t now_unix_seconds) {
  auto asked = parse_set_cookie(set_cookie);
  if (!asked || url.host.size() > kMostHostBytes) return false;
  if (asked->secure && !url.is_https()) return false;
  Cookie cookie{.name = std::move(asked->name),
                .value = std::move(asked->value),
                .path = asked->path.starts_with('/') ? std::move(asked->path) : std::string(default_path(url)),
                .expires_at = asked->expiry_unix_seconds(now_unix_seconds).value_or(kSession),
                .secure = asked->secure,
                .http_only = asked->http_only};
  std::string& domain = asked->domain;
  if (!domain.empty() && domain != url.host) {
    if (!domain.contains('.') || is_address(url.host) || !is_at_or_below(url.host, domain)) return false;
  }
  cookie.host_only = domain.empty() || !domain.contains('.') || is_address(url.host);
  if (domain.empty()) domain = url.host;
  if (!url.is_https() && hides_secure_one(domain, cookie)) return false;
  return put(domain, std::move(cookie), now_unix_seconds);
}

// Returns true if the jar has a Secure cookie with the name of `cookie` that `cookie` could hide: requests would send
// `cookie` in its place or before it. `cookie` arrived over http, so an attacker on the network path may have set it.
bool HttpCookieJar::hides_secure_one(const std::string& domain, const Cookie& cookie) const {
  return std::ranges::any_of(domains_, [&](const auto& each) {
    if (!is_at_or_below(each.first, domain) && !is_at_or_below(domain, each.first)) return false;
    return std::ranges::any_of(each.second, [&](const Cookie& other) {
      return other.secure && other.name == cookie.name && path_matches(cookie.path, other.path);
    });
  });
}

// Stores `cookie` and removes an older cookie with the same name and path. If `cookie` has expired, it is not stored,
// so the older one is only removed. Always returns true.
bool HttpCookieJar::put(const std::string& domain, Cookie cookie, int64_t now_unix_seconds) {
  Domain& cookies = domains_[domain];
  cookie.used = ++last_use_;
  cookie.created = cookie.used;
  const auto same = std::ranges::find_if(cookies, [&](const Cookie& other) {
    return other.name == cookie.name && other.path == cookie.path && other.host_only == cookie.host_only;
  });
  if (same != cookies.end()) {
    cookie.created = same->created;
    cookies.erase(same);
    --size_;
  }
  const bool over = cookie.expires_at <= now_unix_seconds;
  if (!over) {
    cookies.push_back(std::move(cookie));
    ++size_;
  }
  size_ -= std::erase_if(cookies, [&](const Cookie& other) { return other.expires_at <= now_unix_seconds; });
  drop_excess(domain);
  return true;
}

void HttpCookieJar::drop_excess(const std::string& domain) {
  Domain& cookies = domains_.at(domain);
  while (cookies.size() > options_.most_per_domain) {
    cookies.erase(
        std::ranges::min_element(cookies, {}, [](const Cookie& each) { return std::pair(each.secure, each.used); }));
    --size_;
  }
  if (cookies.empty()) domains_.erase(domain);
  while (size_ > options_.most) drop_oldest_of_all();
}

void HttpCookieJar::drop_oldest_of_all() {
  auto oldest = domains_.end();
  Domain::iterator which;
  for (auto at = domains_.begin(); at != domains_.end(); ++at) {
    const auto its = std::ranges::min_element(at->second, {}, &Cookie::used);
    if (oldest != domains_.end() && its->used >= which->used) continue;
    oldest = at;
    which = its;
  }
  oldest->second.erase(which);
  --size_;
  if (oldest->second.empty()) domains_.erase(oldest);
}

// Implements RFC 6265bis 5.8.3, which says which cookies a request sends, and in which order.
std::string HttpCookieJar::field_for(const HttpUrl& url, int64_t now_unix_seconds) {
  if (domains_.empty() || url.host.size() > kMostHostBytes) return {};
  std::vector<Cookie*> found;
  const bool has_parents = !is_address(url.host);
  std::string_view domain = url.host;
  while (!domain.empty()) {
    if (const auto its = domains_.find(std::string(domain)); its != domains_.end()) {
      for (Cookie& cookie : its->second) {
        if (cookie.expires_at <= now_unix_seconds || (cookie.secure && !url.is_https())) continue;
        if (cookie.host_only && domain.size() != url.host.size()) continue;
        if (path_matches(path_of(url), cookie.path)) found.push_back(&cookie);
      }
    }
    const size_t dot = domain.find('.');
    domain.remove_prefix(!has_parents || dot == domain.npos ? domain.size() : dot + 1);
  }
  std::ranges::sort(found, [](const Cookie* a, const Cookie* b) {
    return a->path.size() != b->path.size() ? a->path.size() > b->path.size() : a->created < b->created;
  });
  std::string field;
  for (Cookie* cookie : found) {
    const size_t bytes = cookie->name.size() + 1 + cookie->value.size() + (field.empty() ? 0 : 2);
    if (field.size() + bytes > kMostFieldBytes) continue;
    if (!field.empty()) field += "; ";
    if (!cookie->name.empty()) field += cookie->name + "=";
    field += cookie->value;
    cookie->used = ++last_use_;
  }
  return field;
}

void HttpCookieJar::clear() {
  domains_.clear();
  size_ = 0;
}

// ---- The jar as text.

std::string HttpCookieJar::save(int64_t now_unix_seconds) const {
  std::vector<std::pair<const std::string*, const Cookie*>> all;
  for (const auto& [domain, cookies] : domains_) {
    for (const Cookie& cookie : cookies) all.emplace_back(&domain, &cookie);
  }
  std::ranges::sort(all, {}, [](const auto& each) { return each.second->created; });
  std::string text = "# Netscape HTTP Cookie File\n\n";
  for (const auto& [domain, cookie] : all) {
    if (cookie->expires_at <= now_unix_seconds || cookie->value.contains('\t') || cookie->name.contains('\t')) continue;
    if (cookie->path.contains('\t')) continue;
    text += fmt::format("{}{}{}\t{}\t{}\t{}\t{}\t{}\t{}\n", cookie->http_only ? kHttpOnlyMark : "",
                        cookie->host_only ? "" : ".", *domain, cookie->host_only ? "FALSE" : "TRUE", cookie->path,
                        cookie->secure ? "TRUE" : "FALSE", cookie->expires_at == kSession ? 0 : cookie->expires_at,
                        cookie->name, cookie->value);
  }
  return text;
}

size_t HttpCookieJar::load(std::string_view text, int64_t now_unix_seconds) {
  size_t taken = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (load_line(line, now_unix_seconds)) ++taken;
  }
  return taken;
}

bool HttpCookieJar::load_line(std::string_view line, int64_t now_unix_seconds) {
  Cookie cookie;
  cookie.http_only = line.starts_with(kHttpOnlyMark);
  if (cookie.http_only) line.remove_prefix(kHttpOnlyMark.size());
  if (line.starts_with('#')) return false;
  std::array<std::string_view, 7> parts;
  for (std::string_view& part : parts) {
    if (line.data() == nullptr) return false;
    const size_t tab = line.find('\t');
    part = line.substr(0, tab);
    line = tab == line.npos ? std::string_view() : line.substr(tab + 1);
  }
  if (line.data() != nullptr) return false;
  std::string domain = to_lower(parts[0].substr(parts[0].starts_with('.') ? 1 : 0));
  cookie.host_only = parts[1] != "TRUE";
  cookie.path = parts[2];
  cookie.secure = parts[3] == "TRUE";
  cookie.name = parts[5];
  cookie.value = parts[6];
  const auto expires_at = parse_text<int64_t>(parts[4]);
  if (!expires_at) return false;
  cookie.expires_at = *expires_at == 0 ? kSession : *expires_at;
  const bool is_kept = cookie.expires_at > now_unix_seconds && cookie.path.starts_with('/') &&
                       cookie.name.size() + cookie.value.size() <= kCookieBytesMax && domain.size() <= kMostHostBytes;
  if (!is_kept || domain.empty() || (cookie.name.empty() && cookie.value.empty())) return false;
  if (!cookie.host_only && (!domain.contains('.') || is_address(domain))) return false;
  if (!is_sendable({"x", cookie.name}) || !is_sendable({"x", cookie.value}) || cookie.name.contains('=') ||
      cookie.name.contains(';') || cookie.value.contains(';')) {
    return false;
  }
  return put(domain, std::move(cookie), now_unix_seconds);
}

}  // namespace peal
