// SPDX-License-Identifier: BSD-3-Clause
// Paths as a server compares them, and queries as a handler reads them. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

enum class HttpPathError : uint8_t {
  kNotAbsolute,     // does not begin with '/'
  kBadEscape,       // '%' without two hexadecimal digits
  kEncodedSlash,    // "%2F"
  kEncodedControl,  // "%00" to "%1F", "%7F"
  kAboveRoot,       // ".." where nothing is left to go up from
};
std::string_view to_string(HttpPathError error);

// `path` with its escapes decoded once and its "." and ".." segments resolved (RFC 3986 5.2.4 and 6.2.2): what a router
// or a file server may compare and open. The view is `path` itself where there was nothing to do, else into `storage`.
//
// Refused, all 400: an escape that is none, since readers differ about it. "%2F", since decoded it would separate
// segments that the sender (and a proxy that guards by prefix) meant to be one; a route that needs such names takes the
// raw path. Encoded controls, NUL above all, since no file or route has one and C strings end there. ".." that leaves
// the root, which an honest client never sends (RFC 3986 would drop it). Dots count in any spelling: "%2e%2e" is "..".
// Empty segments ("//") stay; decoded bytes need not be UTF-8.
std::expected<std::string_view, HttpPathError> normalize_http_path(std::string_view path, std::string& storage);

// `text` with %XX and, in queries, '+' decoded; appended to `out`. An escape that is none stays as it is, as the URL
// standard has it for forms.
void append_http_decoded(std::string_view text, std::string& out, bool plus_is_space = true);

// The pairs of "a=1&b=two+words&c": iterates over (key, value) as written, "" where there is no '='; empty pairs are
// passed over.
class HttpQuery {
 public:
  struct Pair {
    std::string_view key;
    std::string_view value;
  };
  class Iterator;

  explicit HttpQuery(std::string_view query) : query_(query) {}
  Iterator begin() const;
  std::default_sentinel_t end() const { return {}; }
  // The decoded value of the first pair whose decoded key is `key`. Views into the query, or into `storage` where there
  // was something to decode.
  std::optional<std::string_view> find(std::string_view key, std::string& storage) const;

 private:
  std::string_view query_;
};

class HttpQuery::Iterator {
 public:
  using value_type = Pair;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  explicit Iterator(std::string_view rest) : rest_(rest) { ++*this; }
  const Pair& operator*() const { return pair_; }
  const Pair* operator->() const { return &pair_; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return done_; }

 private:
  std::string_view rest_;
  Pair pair_;
  bool done_ = false;
};

inline HttpQuery::Iterator HttpQuery::begin() const { return Iterator(query_); }

}  // namespace peal
