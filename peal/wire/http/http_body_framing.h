// SPDX-License-Identifier: BSD-3-Clause
// HttpBodyFraming answers two questions about a message (RFC 9112 6.3 and 9.3): how its body is framed, and whether the
// connection stays open after it. A parser passes it the fields of the head, one after the other. It looks at
// Content-Length, Transfer-Encoding and Connection, and ignores all other fields. It does no I/O; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <peal/wire/http/http_parse_error.h>

namespace peal {

class HttpBodyFraming {
 public:
  // Prepares for the next message: forgets all fields of the last message.
  void clear() { *this = HttpBodyFraming(); }

  // Evaluates one field of the head. `value` must not have white space around it. Returns kBadContentLength or
  // kBadTransferEncoding if the field is invalid or contradicts an earlier field.
  HttpParseError take(std::string_view name, std::string_view value);

  // Evaluates the value of a Connection field, like take() but without a comparison of the name. Only the options
  // close, keep-alive and upgrade have an effect.
  void take_connection(std::string_view value);

  // Evaluates the value of a request's Content-Length. Returns kBadContentLength if the value is not digits only, or if
  // the head already had a Content-Length, even with an equal value. RFC 9110 8.6 lets a server refuse a repeated
  // length: a proxy in front of the server may have used the other field.
  HttpParseError take_only_length(std::string_view value);

  // True if the last transfer coding is chunked. The end of the body is then marked in the body itself.
  bool chunked() const { return last_is_chunked_; }

  bool has_transfer_encoding() const { return has_transfer_encoding_; }

  // True if the head names a transfer coding other than chunked.
  bool has_other_coding() const { return has_other_coding_; }

  // True if a Connection field has the option "upgrade", which makes the Upgrade field valid (RFC 9110 7.8).
  bool says_upgrade() const { return says_upgrade_; }

  // Returns the value of Content-Length. Returns nullopt if the head has no Content-Length, or if it has a
  // Transfer-Encoding, which overrides the length (RFC 9112 6.3, rule 3).
  std::optional<uint64_t> content_length() const {
    if (!has_length_ || has_transfer_encoding_) return std::nullopt;
    return length_;
  }

  // True if the head has both Content-Length and Transfer-Encoding. Such a message may be an attempt at request
  // smuggling, so the connection must be closed after it (RFC 9112 6.1).
  bool is_ambiguous() const { return has_length_ && has_transfer_encoding_; }

  // True if the connection stays open after a message of HTTP/1.`minor_version` with this head (RFC 9112 9.3).
  bool persists(int minor_version) const {
    return !says_close_ && !is_ambiguous() && (minor_version >= 1 || says_keep_alive_);
  }

 private:
  bool take_short_length(std::string_view value);
  HttpParseError take_content_length(std::string_view value);
  HttpParseError take_transfer_encoding(std::string_view value);

  uint64_t length_ = 0;
  bool has_length_ = false;
  bool has_transfer_encoding_ = false;
  bool has_chunked_ = false;
  bool last_is_chunked_ = false;
  bool has_other_coding_ = false;
  bool says_close_ = false;
  bool says_upgrade_ = false;
  bool says_keep_alive_ = false;
};

}  // namespace peal
