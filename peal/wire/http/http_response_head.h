// SPDX-License-Identifier: BSD-3-Clause
// HttpResponseHead: the head of a response as a value of its own, to be kept and looked at. HttpResponseParser is the
// judge of a head; what it has taken is only looked up here. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <peal/wire/http/http_field.h>

namespace peal {

class HttpResponseHead {
 public:
  HttpResponseHead() = default;
  // A whole head, the empty line included, as HttpResponseParser has taken it without an error; what is none:
  // std::invalid_argument.
  explicit HttpResponseHead(std::string text);

  // 100 to 999; 0: there is none.
  int status() const { return status_; }
  // Of HTTP/1.x.
  int minor_version() const { return text_.size() > 7 ? text_[7] - '0' : 0; }
  // What follows the status; may be empty.
  std::string_view reason() const;
  // In the order they were sent, for next_http_field(); a view into this.
  std::string_view field_lines() const;
  // The value of the first field of that name, in any case of letters; a view into this.
  std::optional<std::string_view> find(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t status_line_bytes_ = 0;
  int status_ = 0;
};

}  // namespace peal
