// SPDX-License-Identifier: BSD-3-Clause
// HttpCookies: iterates over the cookies of a request. It reads the value of a Cookie field (RFC 6265bis 4.2, 5.8.3).
// No I/O; any thread.
//
//   for (const HttpCookie& cookie : HttpCookies("theme=dark; session=31d4d96e407aad42")) use(cookie.name);
//
// A semicolon always ends a cookie, even inside quotes, and quotes around a value belong to the value. Browsers read
// cookies in this way. A reader that joined quoted text could take several cookies for one, secret cookies among them.
// A piece without '=' or with an empty name is skipped. Spaces and tabs around names and values are removed.
//
// A request does not say who set a cookie. Another application on the same host or on a sibling domain may have set it.
// If that matters, use a name that begins with "__Host-", for which browsers enforce rules (set_cookie.h).
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace peal {

// One cookie, as views into the value of the field. Escapes that the server put into the value are not decoded.
struct HttpCookie {
  std::string_view name;  // upper and lower case differ
  std::string_view value;
};

class HttpCookies {
 public:
  class Iterator;

  // Keeps a view of the field's value, which must outlive this object, its iterators and the cookies.
  explicit HttpCookies(std::string_view field_value) : field_value_(field_value) {}
  Iterator begin() const;
  std::default_sentinel_t end() const { return {}; }

  // Returns the value of the first cookie with this name, or nullopt if there is none. If several cookies have the
  // name, browsers send the one with the longest path first (RFC 6265bis 5.8.3).
  std::optional<std::string_view> find(std::string_view name) const;

 private:
  std::string_view field_value_;
};

// An input iterator over the cookies. An iterator at the end equals std::default_sentinel.
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
