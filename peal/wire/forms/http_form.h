// SPDX-License-Identifier: BSD-3-Clause
// HttpForm: a form as application/x-www-form-urlencoded, which is also how a query is written (the URL standard,
// section 5.1), decoded. It owns its text and may be copied and moved. Pure; one thread at a time.
//
//   if (const auto form = HttpForm::parse("name=Ann+Lee&age=32")) greet(form->find("name"), form->find<int>("age"));
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/wire/parse_text.h>

namespace peal {

class HttpForm {
 public:
  // Any bytes: what browsers send is UTF-8, others may send what they like. Good until the form is changed or gone.
  struct Field {
    std::string_view name;
    std::string_view value;
  };
  class Iterator;

  HttpForm() = default;
  // %XX and '+' decoded; an escape that is none stays as it is. Nothing for more fields than `most_fields` (each takes
  // 16 bytes beside its text), or 4 GiB of text.
  static std::optional<HttpForm> parse(std::string text, size_t most_fields = SIZE_MAX);

  // The value of the first field of that name; case counts.
  std::optional<std::string_view> find(std::string_view name) const;
  // The same as a number or a bool (parse_text()). Nothing where there is none, and where it is anything else; who must
  // tell one from the other asks for the text.
  template <ParsedFromText T>
  std::optional<T> find(std::string_view name) const {
    const std::optional<std::string_view> text = find(name);
    return text ? parse_text<T>(*text) : std::nullopt;
  }
  // Of all fields of that name, in the order sent: boxes that were ticked, say.
  std::vector<std::string_view> all(std::string_view name) const;

  size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  // `index` below size(); in the order sent.
  Field field(size_t index) const {
    const Parts& parts = fields_[index];
    return {view(parts.name), view(parts.value)};
  }
  Iterator begin() const;
  Iterator end() const;

 private:
  struct Part {
    uint32_t begin = 0;
    uint32_t bytes = 0;
  };
  struct Parts {
    Part name;
    Part value;
  };

  std::string_view view(Part part) const { return std::string_view(text_).substr(part.begin, part.bytes); }

  std::string text_;
  std::vector<Parts> fields_;
};

class HttpForm::Iterator {
 public:
  using value_type = Field;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  Iterator(const HttpForm* form, size_t index) : form_(form), index_(index) {}
  Field operator*() const { return form_->field(index_); }
  Iterator& operator++() {
    ++index_;
    return *this;
  }
  Iterator operator++(int) { return {form_, index_++}; }
  bool operator==(const Iterator&) const = default;

 private:
  const HttpForm* form_ = nullptr;
  size_t index_ = 0;
};
static_assert(std::forward_iterator<HttpForm::Iterator>);

inline HttpForm::Iterator HttpForm::begin() const { return {this, 0}; }
inline HttpForm::Iterator HttpForm::end() const { return {this, fields_.size()}; }

}  // namespace peal
