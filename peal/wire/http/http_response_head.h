// SPDX-License-Identifier: BSD-3-Clause
// HttpResponseHead stores the head of a response as a value with its own memory. It does not check the head:
// HttpResponseParser has done that before, and this class only finds parts of it. Any thread, if no other thread
// changes the object.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <peal/wire/http/http_field.h>

namespace peal {

class HttpResponseHead {
 public:
  // Creates an empty head: status() is 0, and there are no fields.
  HttpResponseHead() = default;

  // Stores one complete head, from the status line to the empty line, that HttpResponseParser has accepted. Throws
  // std::invalid_argument if the text has no status line or does not end in an empty line.
  explicit HttpResponseHead(std::string text);

  // Returns the status code, 100 to 999, or 0 if this head is empty.
  int status() const { return status_; }

  // Returns the minor version, which is the x of HTTP/1.x.
  int minor_version() const { return text_.size() > 7 ? text_[7] - '0' : 0; }

  // Returns the text after the status, for example "Not Found". It may be empty. The view points into this object.
  std::string_view reason() const;

  // Returns the header lines in the order in which they were sent. next_http_field() splits them. The view points into
  // this object.
  std::string_view field_lines() const;

  // Returns the value of the first field of that name, as a view into this object, or nullopt if there is none. The
  // case of letters does not matter.
  std::optional<std::string_view> find(std::string_view name) const;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t status_line_bytes_ = 0;
  int status_ = 0;
};

}  // namespace peal
