// SPDX-License-Identifier: BSD-3-Clause
// ExpiringStore: holds a limited number of texts, each under a key. A text may have a lifetime, and is removed when the
// lifetime is over. A store belongs to one loop and uses timers of that loop.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include <peal/loop/loop.h>

namespace peal::examples {

class ExpiringStore {
 public:
  explicit ExpiringStore(Loop& loop, size_t most = 10'000) : loop_(loop), most_(most) {}
  ~ExpiringStore() {
    for (const auto& [key, entry] : entries_) loop_.cancel(entry.end);
  }
  ExpiringStore(const ExpiringStore&) = delete;
  ExpiringStore& operator=(const ExpiringStore&) = delete;

  // Stores `text` under `key`, and replaces an older text of that key. If `ttl` is positive, the text is removed after
  // that time. Returns false if the key is new and the store is full.
  bool put(const std::string& key, std::string text, std::chrono::seconds ttl) {
    if (!remove(key) && entries_.size() >= most_) return false;
    Entry& entry = entries_[key];
    entry.text = std::move(text);
    if (ttl > std::chrono::seconds::zero()) entry.end = loop_.after(ttl, [this, key] { entries_.erase(key); });
    return true;
  }
  std::optional<std::string> get(const std::string& key) const {
    const auto found = entries_.find(key);
    return found != entries_.end() ? std::optional(found->second.text) : std::nullopt;
  }
  bool remove(const std::string& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return false;
    loop_.cancel(found->second.end);
    entries_.erase(found);
    return true;
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string text;
    TimerId end;
  };
  Loop& loop_;
  const size_t most_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace peal::examples
