// SPDX-License-Identifier: BSD-3-Clause
// HttpForm: the decoded fields of a form in application/x-www-form-urlencoded (the URL standard, section 5.1). The
// query of a URL is written in the same way. An HttpForm owns its text, and may be copied and moved. No I/O; one thread
// at a time.
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
  // One field. Name and value may have any bytes; browsers send UTF-8, other clients may send anything. The views are
  // valid until the form is assigned to, moved or destroyed.
  struct Field {
    std::string_view name;
    std::string_view value;
  };
  class Iterator;

  HttpForm() = default;

  // Splits the text into fields and decodes %XX and '+'. A percent sign that does not begin an escape stays as it is.
  // Returns nullopt if the text has more than `most_fields` fields, or if it has 4 GiB or more. A field takes 16 bytes
  // of memory besides its text.
  static std::optional<HttpForm> parse(std::string text, size_t most_fields = SIZE_MAX);

  // Returns the value of the first field with this name, or nullopt if there is none. Upper and lower case differ.
  std::optional<std::string_view> find(std::string_view name) const;

  // Returns the value of the first field with this name as a number or a bool (parse_text()). Returns nullopt if there
  // is no such field, and also if the value is not a T. To tell these two apart, call find() without a type.
  template <ParsedFromText T>
  std::optional<T> find(std::string_view name) const {
    const std::optional<std::string_view> text = find(name);
    return text ? parse_text<T>(*text) : std::nullopt;
  }

  // Returns the values of all fields with this name, in the order of the text. Browsers send one field of the same name
  // for each ticked box of a group of check boxes.
  std::vector<std::string_view> all(std::string_view name) const;

  size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }

  // Returns the field at this index, in the order of the text. `index` must be less than size().
  Field field(size_t index) const {
    const Parts& parts = fields_[index];
    return {view(parts.name), view(parts.value)};
  }
  Iterator begin() const;
  Iterator end() const;

 private:
  // A range of bytes in text_.
  struct Part {
    uint32_t begin = 0;
    uint32_t bytes = 0;
  };
  struct Parts {
    Part name;
    Part value;
  };

  std::string_view view(Part part) const { return std::string_view(text_).substr(part.begin, part.bytes); }

  std::string text_;  // the decoded names and values
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
