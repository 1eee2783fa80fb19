// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_body_framing.h>

#include <algorithm>
#include <utility>

#include <peal/wire/parts/http_text.h>

namespace peal {

using detail::equals_lower;
using detail::is_word;

HttpParseError HttpBodyFraming::take(std::string_view name, std::string_view value) {
  switch (name.size()) {
    case 10:
      if (is_word(name, "connection")) take_connection(value);
      break;
    case 14:
      if (is_word(name, "content-length")) return take_content_length(value);
      break;
    case 17:
      if (is_word(name, "transfer-encoding")) return take_transfer_encoding(value);
      break;
    default: break;
  }
  return HttpParseError::kNone;
}

// Accepts a number, and also a list that repeats one number. The head may repeat that number in several fields (RFC
// 9110 8.6).
HttpParseError HttpBodyFraming::take_content_length(std::string_view value) {
  if (take_short_length(value)) return HttpParseError::kNone;
  bool found = false;
  for (std::string_view element; detail::next_element(value, element); found = true) {
    uint64_t length = 0;
    for (const char byte : element) {
      if (!detail::is_digit(byte) || __builtin_mul_overflow(length, uint64_t{10}, &length) ||
          __builtin_add_overflow(length, static_cast<uint64_t>(byte - '0'), &length)) {
        return HttpParseError::kBadContentLength;
      }
    }
    if (has_length_ && length != length_) return HttpParseError::kBadContentLength;
    has_length_ = true;
    length_ = length;
  }
  return found ? HttpParseError::kNone : HttpParseError::kBadContentLength;
}

HttpParseError HttpBodyFraming::take_only_length(std::string_view value) {
  const bool is_number = !value.empty() && std::ranges::all_of(value, detail::is_digit);
  return has_length_ || !is_number ? HttpParseError::kBadContentLength : take_content_length(value);
}

// Accepts the usual case quickly: the first Content-Length of the head, with at most 18 digits, which cannot overflow.
// Returns false in any other case and changes nothing.
bool HttpBodyFraming::take_short_length(std::string_view value) {
  if (has_length_ || value.empty() || value.size() > 18) return false;
  uint64_t length = 0;
  for (const char byte : value) {
    const auto digit = static_cast<unsigned>(byte - '0');
    if (digit > 9) return false;
    length = length * 10 + digit;
  }
  has_length_ = true;
  length_ = length;
  return true;
}

// Evaluates the value of a Transfer-Encoding field: the transfer codings in the order in which they were applied (RFC
// 9112 6.1). The list of codings may be spread over several fields.
HttpParseError HttpBodyFraming::take_transfer_encoding(std::string_view value) {
  bool found = false;
  for (std::string_view coding; detail::next_element(value, coding); found = true) {
    last_is_chunked_ = equals_lower(coding, "chunked");
    has_other_coding_ |= !last_is_chunked_;
    // The coding chunked must not be applied twice (RFC 9112 6.1). If another coding follows chunked, the body of a
    // response extends to the close of the connection (RFC 9112 6.3, rule 4).
    if (last_is_chunked_ && std::exchange(has_chunked_, true)) return HttpParseError::kBadTransferEncoding;
  }
  has_transfer_encoding_ = true;
  return found ? HttpParseError::kNone : HttpParseError::kBadTransferEncoding;
}

void HttpBodyFraming::take_connection(std::string_view value) {
  if (is_word(value, "keep-alive")) {
    says_keep_alive_ = true;
    return;
  }
  for (std::string_view option; detail::next_element(value, option);) {
    if (equals_lower(option, "close")) says_close_ = true;
    if (equals_lower(option, "keep-alive")) says_keep_alive_ = true;
    if (equals_lower(option, "upgrade")) says_upgrade_ = true;
  }
}

}  // namespace peal
