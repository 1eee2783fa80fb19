// SPDX-License-Identifier: BSD-3-Clause
// HttpRequestHead: what stands before a request's body, taken apart where it lies.
//
// It keeps no bytes: all views point into the input that was parsed and are good until that is consumed. All parts are
// offsets, so a head that must live longer is copied as text and pointed at the copy:
//   storage.assign(head.text()); head.relocate(storage.data());
// One thread at a time. Made to be reused: from the second request on it allocates nothing (up to the largest number
// of fields it has seen). Clients say mostly what they said before, only the target changes: fields of at most
// 512 bytes are remembered, and a head that repeats them byte for byte is recognised instead of read (a third of the
// instructions).
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
  std::string_view method_text() const { return {base_, request_line_.method_bytes}; }
  // As it was sent: "/a%20b?c=d", "http://h/a", "h:443" of CONNECT, "*" of OPTIONS. Never empty.
  std::string_view target() const { return view(request_line_.target); }
  // Of the target, not decoded (http_path.h does that): begins with '/', or is "*", or is empty (CONNECT).
  std::string_view path() const {
    return request_line_.path.bytes == 0 ? request_line_.implied_path : view(request_line_.path);
  }
  // What follows the first '?', which is not part of it; not decoded.
  std::string_view query() const { return view(request_line_.query); }
  // Host and port that the request is for: the target's where it names one, which then overrules the Host field
  // (RFC 9112 3.2.2), else that field. Empty where HTTP/1.0 sent none, or Host was empty.
  std::string_view authority() const {
    return request_line_.names_authority ? view(request_line_.authority) : field_text(facts_.host);
  }
  // Of HTTP/1.x.
  int minor_version() const { return request_line_.minor_version; }

  size_t field_count() const { return facts_.field_count; }
  // `index` below field_count(); in the order sent.
  HttpField field(size_t index) const { return {field_text(fields_[index].name), field_text(fields_[index].value)}; }
  FieldRange fields() const;
  // The value of the first field of that name, in any case of letters.
  std::optional<std::string_view> find(std::string_view name) const;
  // The values of all fields of that name, in the order sent; and the elements of all of them, where the field is a
  // list (next_list_element() says how it is cut), for which it does not matter over how many lines it is spread (RFC
  // 9110 5.3):
  //   for (std::string_view hop : head.elements("X-Forwarded-For")) use(hop);
  // `name` lives as long as the range.
  NamedRange<ValueIterator> values(std::string_view name) const;
  NamedRange<ElementIterator> elements(std::string_view name) const;

  // What the head says about its connection and its body.
  bool keep_alive() const { return facts_.framing.persists(request_line_.minor_version); }
  // A body follows, though it may turn out to be empty when it is chunked.
  bool has_body() const { return facts_.framing.chunked() || facts_.framing.content_length().value_or(0) > 0; }
  std::optional<uint64_t> content_length() const { return facts_.framing.content_length(); }
  bool chunked() const { return facts_.framing.chunked(); }
  // The peer waits for "100 Continue" before it sends the body (RFC 9110 10.1.1).
  bool expects_continue() const { return facts_.expects_continue && request_line_.minor_version >= 1 && has_body(); }
  // The protocols that the peer offers to go on with (RFC 9110 7.8), where Connection says "upgrade" too; else empty.
  std::string_view upgrade() const;

  // The whole head as it was sent, from the method to the empty line.
  std::string_view text() const { return {base_, request_line_.head_bytes}; }
  // Nothing was read.
  void forget() {
    base_ = "";
    request_line_ = {};
    facts_ = {};
    last_fields_.clear();
  }
  // What it holds for the next head, beside itself and the text.
  size_t memory_bytes() const { return fields_.capacity() * sizeof(FieldParts) + last_fields_.capacity(); }
  // `copy` holds text() from now on.
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

  // What the request line says. Parts are offsets from the beginning of the head.
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
    bool names_authority = false;
    std::string_view implied_path;
  };
  // What the fields say. Parts are offsets from the first of them.
  struct FieldFacts {
    uint64_t name_lengths = 0;  // bit n: some field's name has n bytes (modulo 64), so find() need not look
    uint16_t field_count = 0;
    Part host;
    Part upgrade;
    bool has_host = false;
    bool expects_continue = false;
    HttpBodyFraming framing;
  };

  // The first field of that name from `index` on; field_count() where there is none.
  size_t find_from(size_t index, std::string_view name) const;
  std::string_view view(Part part) const { return {base_ + part.begin, part.bytes}; }
  std::string_view field_text(Part part) const { return {base_ + request_line_.fields_begin + part.begin, part.bytes}; }

  const char* base_ = "";
  RequestLine request_line_;
  FieldFacts facts_;
  std::vector<FieldParts> fields_;  // the first field_count are meant
  std::string last_fields_;         // what facts_ and fields_ were read from, when it is worth a comparison
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
  ValueIterator lines_;  // that were not begun
  std::string_view list_;
  std::string_view element_;  // never empty before the end
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
