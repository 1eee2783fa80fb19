// SPDX-License-Identifier: BSD-3-Clause
// HttpCookies: the cookies of a request, the value of a Cookie field taken apart (RFC 6265bis 4.2, 5.8.3). Pure; any
// thread.
//
//   for (const HttpCookie& cookie : HttpCookies("theme=dark; session=31d4d96e407aad42")) use(cookie.name);
//
// A semicolon separates wherever it stands, between quotes too, and quotes around a value are part of it: a reader that
// knows better takes for one cookie what the browser knows as several, secret ones among them. Pieces without '=' and
// without a name are passed over, as are spaces and tabs around names and values.
//
// What a request says of a cookie is its name and its value, never who set it: another application of the same host, or
// of a sibling domain, may have. Where that matters, a name begins with "__Host-", which browsers guard (set_cookie.h).
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace peal {

// Views into the field's value. Not decoded: a value has whatever escapes its server gave it.
struct HttpCookie {
  std::string_view name;  // case counts
  std::string_view value;
};

class HttpCookies {
 public:
  class Iterator;

  explicit HttpCookies(std::string_view field_value) : field_value_(field_value) {}
  Iterator begin() const;
  std::default_sentinel_t end() const { return {}; }
  // The value of the first of that name, which is the one with the longest path (RFC 6265bis 5.8.3).
  std::optional<std::string_view> find(std::string_view name) const;

 private:
  std::string_view field_value_;
};

class HttpCookies::Iterator {
 public:
  using value_type = HttpCookie;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  explicit Iterator(std::string_view rest) : rest_(rest) { ++*this; }
  const HttpCookie& operator*() const { return cookie_; }
  const HttpCookie* operator->() const { return &cookie_; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return done_; }

 private:
  std::string_view rest_;
  HttpCookie cookie_;
  bool done_ = false;
};

inline HttpCookies::Iterator HttpCookies::begin() const { return Iterator(field_value_); }

}  // namespace peal
