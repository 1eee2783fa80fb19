// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_response_head.h>

#include <algorithm>

#include <peal/base/bad_value.h>

namespace peal {
namespace {

constexpr size_t kStatusAt = std::string_view("HTTP/1.1 ").size();

}  // namespace

HttpResponseHead::HttpResponseHead(std::string text)
    : text_(std::move(text)), status_line_bytes_(text_.find('\n') + 1) {
  if (status_line_bytes_ < kStatusAt + 5 || !text_.ends_with("\r\n\r\n")) {
    throw_bad_value("{} bytes that are not a whole response head", text_.size());
  }
  for (size_t at = kStatusAt; at < kStatusAt + 3; ++at) status_ = status_ * 10 + (text_[at] - '0');
}

std::string_view HttpResponseHead::reason() const {
  const std::string_view line =
      std::string_view(text_).substr(0, status_line_bytes_ - std::min<size_t>(status_line_bytes_, 2));
  return line.substr(std::min(line.size(), kStatusAt + 4));
}

std::string_view HttpResponseHead::field_lines() const {
  if (text_.empty()) return {};
  return std::string_view(text_).substr(status_line_bytes_, text_.size() - 2 - status_line_bytes_);
}

std::optional<std::string_view> HttpResponseHead::find(std::string_view name) const {
  std::string_view lines = field_lines();
  for (HttpField field; next_http_field(lines, field);) {
    if (same_field_name(field.name, name)) return field.value;
  }
  return std::nullopt;
}

}  // namespace peal
