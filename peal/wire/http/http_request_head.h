// SPDX-License-Identifier: BSD-3-Clause
// HttpRequestHead describes the head of a request: the request line and the header fields. HttpRequestParser fills it.
//
// The object does not copy the head. All views that it returns point into the parsed input and are valid until that
// input is consumed. The parts are stored as offsets, so a head that must live longer can be moved to a copy of its
// text:
//   storage.assign(head.text()); head.relocate(storage.data());
//
// Use the same object for all requests of a connection. It then allocates memory only when a request has more fields
// than any request before, and for the copy of the last header fields. Successive requests of a client mostly differ in
// their target only. So the object keeps a copy of the last header fields if they have at most 512 bytes. If the next
// request repeats them byte for byte, the results are reused and the fields are not parsed again, which takes a third
// of the instructions.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/wire/http/http_body_framing.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/http/http_method.h>

namespace peal {

namespace detail {
class HttpHeadReader;
}

class HttpRequestHead {
 public:
  class FieldIterator;
  class FieldRange;
  class ValueIterator;
  class ElementIterator;
  template <class Iterator>
  class NamedRange;

  HttpMethod method() const { return request_line_.method; }

  // Returns the method as the client sent it, even if method() is kOther.
  std::string_view method_text() const { return {base_, request_line_.method_bytes}; }

  // Returns the target as the client sent it, for example "/a%20b?c=d", "http://h/a", "h:443" (CONNECT) or "*"
  // (OPTIONS). It is never empty.
  std::string_view target() const { return view(request_line_.target); }

  // Returns the path of the target, with its percent-escapes (http_path.h decodes them). The path begins with '/', or
  // is "*" for OPTIONS, or is empty for CONNECT.
  std::string_view path() const {
    return request_line_.path.bytes == 0 ? request_line_.implied_path : view(request_line_.path);
  }

  // Returns the part of the target after the first '?', with its percent-escapes. Empty if there is no query.
  std::string_view query() const { return view(request_line_.query); }

  // Returns the host and the optional port that the request is for. If the target contains an authority, returns that
  // authority, because it overrides the Host field (RFC 9112 3.2.2). Otherwise returns the value of Host. The result is
  // empty if Host is empty, or if an HTTP/1.0 request has no Host.
  std::string_view authority() const {
    return request_line_.names_authority ? view(request_line_.authority) : field_text(facts_.host);
  }

  // Returns 0 for HTTP/1.0 and 1 for HTTP/1.1 and later minor versions.
  int minor_version() const { return request_line_.minor_version; }

  // Returns the number of header lines. Repeated names count separately.
  size_t field_count() const { return facts_.field_count; }

  // Returns the header field at `index`, counted from 0 in the order in which the client sent them. `index` must be
  // less than field_count().
  HttpField field(size_t index) const { return {field_text(fields_[index].name), field_text(fields_[index].value)}; }

  // Returns all header fields as a range of HttpField, in the order in which the client sent them.
  FieldRange fields() const;

  // Returns the value of the first field of that name, or nullopt if there is none. The case of letters does not
  // matter.
  std::optional<std::string_view> find(std::string_view name) const;

  // Returns the values of all fields of that name as a range, in the order in which the client sent them. The bytes of
  // `name` must stay valid as long as the range is used.
  NamedRange<ValueIterator> values(std::string_view name) const;

  // Returns the elements of a field that is a comma-separated list, as next_list_element() splits it. A list may be
  // spread over several fields of the same name (RFC 9110 5.3); the range contains the elements of all of them. The
  // bytes of `name` must stay valid as long as the range is used.
  //   for (std::string_view hop : head.elements("X-Forwarded-For")) use(hop);
  NamedRange<ElementIterator> elements(std::string_view name) const;

  // True if the connection may stay open after the response (RFC 9112 9.3).
  bool keep_alive() const { return facts_.framing.persists(request_line_.minor_version); }

  // True if a body follows the head. A chunked body may still turn out to be empty.
  bool has_body() const { return facts_.framing.chunked() || facts_.framing.content_length().value_or(0) > 0; }

  // Returns the length of the body. Returns nullopt if the head has no Content-Length or the body is chunked.
  std::optional<uint64_t> content_length() const { return facts_.framing.content_length(); }

  bool chunked() const { return facts_.framing.chunked(); }

  // True if the client waits for "100 Continue" before it sends the body (RFC 9110 10.1.1).
  bool expects_continue() const { return facts_.expects_continue && request_line_.minor_version >= 1 && has_body(); }

  // Returns the value of the first Upgrade field: the protocols that the client offers to switch to (RFC 9110 7.8).
  // Empty if the head has no Upgrade, if Connection does not contain "upgrade", or if the version is HTTP/1.0.
  std::string_view upgrade() const;

  // Returns the whole head as it was sent, from the method to the empty line.
  std::string_view text() const { return {base_, request_line_.head_bytes}; }

  // Resets the object to an empty head, as before the first request, and keeps its memory.
  void forget() {
    base_ = "";
    request_line_ = {};
    facts_ = {};
    last_fields_.clear();
  }

  // Returns how many bytes this object has allocated for fields. sizeof(HttpRequestHead) and the text of the head are
  // not included.
  size_t memory_bytes() const { return fields_.capacity() * sizeof(FieldParts) + last_fields_.capacity(); }

  // Makes all views point into `copy`, which must hold a copy of text() and must live as long as the views are used.
  void relocate(const char* copy) { base_ = copy; }

 private:
  friend class HttpRequestParser;
  friend class detail::HttpHeadReader;
  struct Part {
    uint16_t begin = 0;
    uint16_t bytes = 0;
  };
  struct FieldParts {
    Part name;
    Part value;
  };

  // The result of parsing the request line. Each Part is a length and an offset from the beginning of the head.
  struct RequestLine {
    uint16_t head_bytes = 0;
    uint16_t fields_begin = 0;
    uint16_t method_bytes = 0;
    Part target;
    Part path;
    Part query;
    Part authority;
    HttpMethod method = HttpMethod::kOther;
    uint8_t minor_version = 1;
    bool names_authority = false;   // true if the target contains an authority, which overrides Host
    std::string_view implied_path;  // the path() of an absolute URL that has no path: "/" or "*"
  };
  // The result of parsing the header fields. Each Part is a length and an offset from the first field.
  struct FieldFacts {
    // Bit n is set if the name of any field has n bytes (modulo 64). If the bit for the length of a name is clear,
    // find() returns nullopt without a search.
    uint64_t name_lengths = 0;
    uint16_t field_count = 0;
    Part host;
    Part upgrade;
    bool has_host = false;
    bool expects_continue = false;
    HttpBodyFraming framing;
  };

  // Returns the index of the first field with this name at or after `index`. Returns field_count() if there is none.
  size_t find_from(size_t index, std::string_view name) const;

  std::string_view view(Part part) const { return {base_ + part.begin, part.bytes}; }
  std::string_view field_text(Part part) const { return {base_ + request_line_.fields_begin + part.begin, part.bytes}; }

  const char* base_ = "";
  RequestLine request_line_;
  FieldFacts facts_;
  std::vector<FieldParts> fields_;  // only the first facts_.field_count elements are valid
  std::string last_fields_;         // a copy of the text that facts_ and fields_ describe; empty if it was too long
};

class HttpRequestHead::FieldIterator {
 public:
  using value_type = HttpField;
  using difference_type = std::ptrdiff_t;

  FieldIterator() = default;
  FieldIterator(const HttpRequestHead* head, size_t index) : head_(head), index_(index) {}
  HttpField operator*() const { return head_->field(index_); }
  FieldIterator& operator++() {
    ++index_;
    return *this;
  }
  FieldIterator operator++(int) { return {head_, index_++}; }
  bool operator==(const FieldIterator&) const = default;

 private:
  const HttpRequestHead* head_ = nullptr;
  size_t index_ = 0;
};
static_assert(std::forward_iterator<HttpRequestHead::FieldIterator>);

class HttpRequestHead::FieldRange {
 public:
  explicit FieldRange(const HttpRequestHead& head) : head_(&head) {}
  FieldIterator begin() const { return {head_, 0}; }
  FieldIterator end() const { return {head_, head_->field_count()}; }

 private:
  const HttpRequestHead* head_;
};

inline HttpRequestHead::FieldRange HttpRequestHead::fields() const { return FieldRange(*this); }

class HttpRequestHead::ValueIterator {
 public:
  using value_type = std::string_view;
  using difference_type = std::ptrdiff_t;

  ValueIterator() = default;
  ValueIterator(const HttpRequestHead& head, std::string_view name)
      : head_(&head), name_(name), index_(head.find_from(0, name)) {}
  std::string_view operator*() const { return head_->field(index_).value; }
  ValueIterator& operator++() {
    index_ = head_->find_from(index_ + 1, name_);
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return head_ == nullptr || index_ == head_->field_count(); }

 private:
  const HttpRequestHead* head_ = nullptr;
  std::string_view name_;
  size_t index_ = 0;
};
static_assert(std::input_iterator<HttpRequestHead::ValueIterator>);

class HttpRequestHead::ElementIterator {
 public:
  using value_type = std::string_view;
  using difference_type = std::ptrdiff_t;

  ElementIterator() = default;
  ElementIterator(const HttpRequestHead& head, std::string_view name) : lines_(head, name) { ++*this; }
  std::string_view operator*() const { return element_; }
  ElementIterator& operator++() {
    while (!next_list_element(list_, element_)) {
      if (lines_ == std::default_sentinel) {
        element_ = {};
        break;
      }
      list_ = *lines_;
      ++lines_;
    }
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return element_.empty(); }

 private:
  ValueIterator lines_;       // the first field that is not split yet
  std::string_view list_;     // the rest of the field that is being split
  std::string_view element_;  // empty only at the end of the range
};
static_assert(std::input_iterator<HttpRequestHead::ElementIterator>);

template <class Iterator>
class HttpRequestHead::NamedRange {
 public:
  NamedRange(const HttpRequestHead& head, std::string_view name) : begin_(head, name) {}
  Iterator begin() const { return begin_; }
  std::default_sentinel_t end() const { return {}; }

 private:
  Iterator begin_;
};

inline HttpRequestHead::NamedRange<HttpRequestHead::ValueIterator> HttpRequestHead::values(
    std::string_view name) const {
  return {*this, name};
}
inline HttpRequestHead::NamedRange<HttpRequestHead::ElementIterator> HttpRequestHead::elements(
    std::string_view name) const {
  return {*this, name};
}

}  // namespace peal
