// SPDX-License-Identifier: BSD-3-Clause
// SessionCache: the sessions that a client keeps for resumption, each under the key of its server. If more than the
// limit are kept, the least recently used one is erased. May be used on any thread.
//
// take() never returns an object that two connections share: OpenSSL marks the session of a failed connection as unfit
// for resumption, and that must not affect the others.
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
  // `most` is the largest number of sessions that are kept.
  explicit SessionCache(size_t most) : most_(most) {}

  // Adds a session. A null session is ignored.
  void put(const std::string& key, SessionPtr session) {
    const MutexLock lock(mutex_);
    if (session) kept_.emplace_back(key, std::move(session));
    if (kept_.size() > most_) kept_.erase(kept_.begin());
  }

  // Returns the most recently used session under `key`; null if there is none. A session of TLS 1.3 is removed, because
  // it may be used for one connection only (RFC 8446 C.4). A session of TLS 1.2 stays, and a copy is returned.
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
  std::vector<std::pair<std::string, SessionPtr>> kept_ PEAL_GUARDED_BY(mutex_);  // Least recently used first.
};

}  // namespace peal::detail
