// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/bad_message.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <peal/base/log.h>
#include <peal/base/log_limiter.h>
#include <peal/base/mutex.h>
#include <peal/coro/stream.h>
#include <peal/loop/loop.h>
#include <peal/net/connection.h>

namespace peal {
namespace {

// The most bytes of a type name that a log line shows.
constexpr size_t kMostLoggedName = 100;

// Logs messages that cannot be read, at most one line a second. May be used on any thread, by several at once.
class BadMessageLog {
 public:
  void note(const Connection& connection, const BadMessage& bad) {
    const std::optional<uint64_t> suppressed = admit(connection.loop().now());
    if (!suppressed) return;
    const Result<SocketAddress> peer = connection.peer_address();
    PEAL_LOG_WARN("a message of {} is refused: {} (type \"{}\", {} bytes; {} more like it)",
                  peer ? peer->to_string() : "a peer", make_error_code(bad.why).message(),
                  bad.type_name.substr(0, kMostLoggedName), bad.body_bytes, *suppressed);
  }

 private:
  // Returns the number of lines that were suppressed since the last line, or nullopt if this line is suppressed.
  std::optional<uint64_t> admit(TimePoint now) {
    const MutexLock lock(mutex_);
    return limiter_.admit(now);
  }

  Mutex mutex_;
  LogLimiter limiter_ PEAL_GUARDED_BY(mutex_){std::chrono::seconds(1)};
};

}  // namespace

BadMessageCallback refuse_bad_messages() {
  return [log = std::make_shared<BadMessageLog>()](Connection& connection, const BadMessage& bad) {
    log->note(connection, bad);
    connection.refuse(bad.why);
  };
}

StreamBadMessageCallback refuse_bad_stream_messages() {
  return [log = std::make_shared<BadMessageLog>()](Stream& stream, const BadMessage& bad) {
    if (stream.connection() != nullptr) log->note(*stream.connection(), bad);
    stream.mark_refused(bad.why);
    stream.close();
  };
}

}  // namespace peal
