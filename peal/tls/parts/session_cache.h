// SPDX-License-Identifier: BSD-3-Clause
// SessionCache: a client's sessions, by whom they were made with. At most so many are kept, and what was used least
// recently goes first. What is taken is nobody else's: OpenSSL marks a session whose connection failed. Any thread.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <peal/base/mutex.h>
#include <peal/tls/parts/ssl_settings.h>

namespace peal::detail {

class SessionCache {
 public:
  explicit SessionCache(size_t most) : most_(most) {}

  void put(const std::string& key, SessionPtr session) {
    const MutexLock lock(mutex_);
    if (session) kept_.emplace_back(key, std::move(session));
    if (kept_.size() > most_) kept_.erase(kept_.begin());
  }
  // The newest; null: none. One of TLS 1.3 is good for one connection and leaves (RFC 8446 C.4), an older one stays.
  SessionPtr take(const std::string& key) {
    const MutexLock lock(mutex_);
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const auto& each) { return each.first == key; });
    if (found == kept_.rend()) return nullptr;
    std::rotate(found.base() - 1, found.base(), kept_.end());
    SessionPtr& last = kept_.back().second;
    if (SSL_SESSION_get_protocol_version(last.get()) < TLS1_3_VERSION) return SessionPtr(SSL_SESSION_dup(last.get()));
    SessionPtr session = std::move(last);
    kept_.pop_back();
    return session;
  }
  size_t size() const {
    const MutexLock lock(mutex_);
    return kept_.size();
  }

 private:
  const size_t most_;
  mutable Mutex mutex_;
  std::vector<std::pair<std::string, SessionPtr>> kept_ PEAL_GUARDED_BY(mutex_);  // used last at the end
};

}  // namespace peal::detail
