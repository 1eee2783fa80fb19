// SPDX-License-Identifier: BSD-3-Clause
#include "store.h"

#include <algorithm>

namespace app {

std::string_view to_string(PutResult result) {
  switch (result) {
    case PutResult::kStored: return "stored";
    case PutResult::kBadKey: return "the key is empty, too long, or has blanks or control characters";
    case PutResult::kValueTooLong: return "the value is too long";
    case PutResult::kFull: return "the store is full";
  }
  return "unknown";
}

PutResult Store::put(std::string_view key, std::string_view value) {
  const bool is_plain = std::ranges::none_of(key, [](unsigned char c) { return c <= ' ' || c == 0x7F; });
  if (key.empty() || key.size() > limits_.key_bytes || !is_plain) return PutResult::kBadKey;
  if (value.size() > limits_.value_bytes) return PutResult::kValueTooLong;
  const std::lock_guard lock(mutex_);
  if (const auto found = values_.find(key); found != values_.end()) {
    found->second = value;
    return PutResult::kStored;
  }
  if (values_.size() >= limits_.entries) return PutResult::kFull;
  values_.emplace(key, value);
  return PutResult::kStored;
}

std::optional<std::string> Store::get(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

bool Store::remove(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  values_.erase(found);
  return true;
}

}  // namespace app
