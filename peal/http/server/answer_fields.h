// SPDX-License-Identifier: BSD-3-Clause
// AnswerFields: the fields that were set for an exchange's answer, in the order in which they were set.
//
// The fields that middleware has set stay when the handler's own fields are dropped. The handler's fields are dropped
// after an interim answer, and when the server answers in the handler's place. The object belongs to its exchange, and
// only the exchange's loop uses it.
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
  // Returns the fields as well-formed lines "name: value" CR LF, for next_http_field(). The view is valid until the
  // fields change.
  std::string_view lines() const { return lines_; }

  // Returns the lines that were added after the last keep().
  std::string_view own_lines() const { return lines().substr(kept_bytes_); }

  // True if there is an Upgrade field. The Connection field must then name Upgrade too (RFC 9110 7.8).
  bool offers_upgrade() const { return upgrade_end_ > 0; }

  // Adds a field. Returns false, and adds nothing, if the field may not be sent (is_sendable()).
  [[nodiscard]] bool add(std::string_view name, std::string_view value) {
    if (!append_http_field(lines_, name, value)) return false;
    if (upgrade_end_ == 0 && same_field_name(name, "Upgrade")) upgrade_end_ = end();
    return true;
  }

  // Marks all fields that were added so far as those of middleware, which drop_own() does not remove.
  void keep() { kept_bytes_ = end(); }

  // Removes the fields that were added after the last keep().
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
  uint32_t kept_bytes_ = 0;   // bytes of lines_ that middleware has set
  uint32_t upgrade_end_ = 0;  // offset in lines_ after the first Upgrade field; 0: there is none
};

}  // namespace peal::detail
