// SPDX-License-Identifier: BSD-3-Clause
// AnswerFields: the fields that were set for an exchange's answer, in the order they were set. Those of middleware
// outlive what the handler behind it does: an interim answer takes the handler's own away, and so does an answer that
// the server gives in the handler's place. Belongs to its exchange; its loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/http/http_field.h>

namespace peal::detail {

class AnswerFields {
 public:
  // "name: value" CR LF each and well-formed: next_http_field() takes them apart. Good until the next change.
  std::string_view lines() const { return lines_; }
  // Those of them that were set since keep().
  std::string_view own_lines() const { return lines().substr(kept_bytes_); }
  // There is an Upgrade field, which Connection has to name too (RFC 9110 7.8).
  bool offers_upgrade() const { return upgrade_end_ > 0; }

  // False, and nothing is added, where the field is not sendable (is_sendable()).
  [[nodiscard]] bool add(std::string_view name, std::string_view value) {
    if (!append_http_field(lines_, name, value)) return false;
    if (upgrade_end_ == 0 && same_field_name(name, "Upgrade")) upgrade_end_ = end();
    return true;
  }
  // What is set by now is middleware's and survives drop_own().
  void keep() { kept_bytes_ = end(); }
  void drop_own() {
    PEAL_ASSERT(kept_bytes_ <= lines_.size(), "{} bytes of fields are kept, of {}", kept_bytes_, lines_.size());
    lines_.resize(kept_bytes_);
    if (upgrade_end_ > kept_bytes_) upgrade_end_ = 0;
  }
  void clear() {
    lines_.clear();
    kept_bytes_ = upgrade_end_ = 0;
  }
  size_t capacity() const { return lines_.capacity(); }

 private:
  uint32_t end() const { return static_cast<uint32_t>(lines_.size()); }

  std::string lines_;
  uint32_t kept_bytes_ = 0;   // of them that middleware set
  uint32_t upgrade_end_ = 0;  // of the first Upgrade field; 0: there is none
};

}  // namespace peal::detail
