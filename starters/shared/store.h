// SPDX-License-Identifier: BSD-3-Clause
// Store: texts by key, in memory. All threads of the service share one store. It does no I/O, so handlers and tests can
// both call it. Replace it by what your service is about.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace app {

// Clients choose keys and values, so each has a limit. With these limits a full store takes about 45 MB.
struct StoreLimits {
  size_t entries = 10'000;
  size_t key_bytes = 256;
  size_t value_bytes = 4096;
};

enum class PutResult {
  kStored,
  kBadKey,        // the key is empty, longer than StoreLimits::key_bytes, or has blanks or control characters
  kValueTooLong,  // the value is longer than StoreLimits::value_bytes
  kFull,          // the key is new, and the store has StoreLimits::entries keys
};
// Returns a phrase for the client, such as "the store is full".
std::string_view to_string(PutResult result);

// All functions may be called on any thread. Each of them holds the lock only for a moment, so a loop may call it.
class Store {
 public:
  explicit Store(const StoreLimits& limits = {}) : limits_(limits) {}

  // Stores `value` under `key`, in place of the value that was there.
  PutResult put(std::string_view key, std::string_view value);
  // Returns the value of `key`, or nothing if there is none.
  std::optional<std::string> get(std::string_view key) const;
  // Returns whether `key` had a value.
  bool remove(std::string_view key);

 private:
  const StoreLimits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> values_;  // guarded by the mutex
};

}  // namespace app
