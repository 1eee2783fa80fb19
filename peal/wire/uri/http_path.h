// SPDX-License-Identifier: BSD-3-Clause
// Normalizes the path of a request, decodes percent escapes, and reads the pairs of a query. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

// The reason why normalize_http_path() refuses a path.
enum class HttpPathError : uint8_t {
  kNotAbsolute,     // the path does not begin with '/'
  kBadEscape,       // the path has a '%' without two hexadecimal digits
  kEncodedSlash,    // the path has "%2F"
  kEncodedControl,  // the path has one of "%00" to "%1F" or "%7F"
  kAboveRoot,       // a ".." segment would leave the root
};

// Returns a short description for a log or an answer.
std::string_view to_string(HttpPathError error);

// Returns `path` with its escapes decoded once and its "." and ".." segments resolved (RFC 3986 5.2.4, 6.2.2). A router
// or a file server may compare and open the result. The result is a view of `path` if the path has neither '%' nor
// "/.", and otherwise a view of `storage`, which is overwritten.
//
// These paths are refused, and a server answers 400 to them:
// - A path that does not begin with '/'.
// - An invalid escape, because readers disagree about its meaning.
// - "%2F", because decoding it would split a segment that the sender meant to be one. A proxy that guards paths by
//   their prefix sees one segment too. A route that needs such names must read the raw path.
// - An encoded control, above all NUL, because no file or route has one and because C strings end at NUL.
// - A ".." that leaves the root, because an honest client never sends it. RFC 3986 would drop that segment.
//
// Encoded dots count as dots: "%2e%2e" is "..". Empty segments ("//") are kept. The decoded bytes need not be UTF-8.
std::expected<std::string_view, HttpPathError> normalize_http_path(std::string_view path, std::string& storage);

// Appends `text` to `out` with %XX decoded. '+' is decoded to a space if `plus_is_space`, which is right for queries
// and forms but not for paths. An invalid escape is appended as it is, as the URL standard says for forms.
void append_http_decoded(std::string_view text, std::string& out, bool plus_is_space = true);

// Appends `text` to `out` as a segment of a path, or as a key or value of a query: all bytes except unreserved ones are
// percent-encoded (RFC 3986 2.3).
void append_http_escaped(std::string_view text, std::string& out);

// HttpQuery iterates over the pairs of a query such as "a=1&b=two+words&c". Keys and values are views of the query and
// are not decoded. The value is empty if a pair has no '='. Empty pairs are skipped. The query must outlive the object,
// its iterators and the pairs.
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

  // Returns the decoded value of the first pair whose decoded key is `key`, or nullopt if there is none. The result is
  // a view of the query if the value has nothing to decode, and otherwise a view of `storage`, which is overwritten.
  std::optional<std::string_view> find(std::string_view key, std::string& storage) const;

 private:
  std::string_view query_;
};

// An input iterator over the pairs. An iterator at the end equals std::default_sentinel.
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
