// SPDX-License-Identifier: BSD-3-Clause
// HttpBodyFraming collects, field by field, what a head says about the length of its body and the life of its
// connection (RFC 9112 6.3 and 9.3): Content-Length, Transfer-Encoding, Connection. All other fields it ignores.
// Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <peal/wire/http/http_parse_error.h>

namespace peal {

class HttpBodyFraming {
 public:
  // Forgets the head before.
  void clear() { *this = HttpBodyFraming(); }
  // One field of the head; `value` without the white space around it.
  HttpParseError take(std::string_view name, std::string_view value);
  // The value of Connection; a request has it most often and says keep-alive.
  void take_connection(std::string_view value);
  // The value of a request's Content-Length: digits alone, and no second one, not even the same (which RFC 9110 8.6
  // lets a server refuse: somebody before it may have used the other).
  HttpParseError take_only_length(std::string_view value);

  // Whether the last transfer coding is chunked, so that the body says itself where it ends.
  bool chunked() const { return last_is_chunked_; }
  bool has_transfer_encoding() const { return has_transfer_encoding_; }
  // A coding beside chunked.
  bool has_other_coding() const { return has_other_coding_; }
  // Connection says that a protocol of the Upgrade field may take over.
  bool says_upgrade() const { return says_upgrade_; }
  // What the head says, where a Transfer-Encoding does not overrule it (RFC 9112 6.3 3.).
  std::optional<uint64_t> content_length() const {
    if (!has_length_ || has_transfer_encoding_) return std::nullopt;
    return length_;
  }
  // A head with both may be an attempt to smuggle: the connection ends with this message (RFC 9112 6.1).
  bool is_ambiguous() const { return has_length_ && has_transfer_encoding_; }
  // Whether the connection outlives a message of HTTP/1.`minor_version` with this head.
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
