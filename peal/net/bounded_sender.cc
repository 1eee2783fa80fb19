// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/bounded_sender.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include <peal/base/assert.h>
#include <peal/net/parts/connection_set.h>

namespace peal {

// Account counts the bytes that the sender has accepted and that are still in memory. put() adds the bytes. They are
// subtracted when their memory is released, on any thread: after the kernel has taken them, or when they are dropped.
class BoundedSender::Account : public std::enable_shared_from_this<Account> {
 public:
  explicit Account(size_t most_bytes) : most_bytes_(most_bytes) {}

  enum class Taken : uint8_t {
    kRefused,      // no room, or ended
    kTaskPending,  // accepted; a task that sends them is posted already
    kMustPostTask  // accepted; the caller must post the task
  };
  Taken put(std::string_view bytes, bool waits) {
    std::unique_lock lock(mutex_);
    auto ready = [&] {
      return ended_ || on_their_way_ == 0 ||
             (bytes.size() <= most_bytes_ && on_their_way_ <= most_bytes_ - bytes.size());
    };
    if (waits) changed_.wait(lock, ready);
    if (ended_ || !ready()) return Taken::kRefused;
    on_their_way_ += bytes.size();
    waiting_.append(bytes);
    return std::exchange(task_pending_, true) ? Taken::kTaskPending : Taken::kMustPostTask;
  }
  // Sends the bytes in waiting_. Must be called on the connection's loop. Calls end() if the connection cannot send any
  // more.
  void send_waiting(Connection* connection) {
    if (connection == nullptr || !connection->can_send()) return end();
    // Even a few bytes get a block of their own, because the sender's count of bytes in memory falls
    // only when their block is released.
    const SharedBytes bytes = take();
    const auto size = static_cast<uint32_t>(bytes->size());
    connection->send(Buffer(BlockPool::here().wrap(bytes, 0, size), 0, size));
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    on_their_way_ -= std::exchange(waiting_, {}).size();
    changed_.notify_all();
  }
  bool ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  size_t on_their_way() const {
    const std::lock_guard lock(mutex_);
    return on_their_way_;
  }

 private:
  SharedBytes take() {
    const std::lock_guard lock(mutex_);
    task_pending_ = false;
    return {new std::string(std::exchange(waiting_, {})), [account = shared_from_this()](const std::string* sent) {
              account->pay_back(sent->size());
              delete sent;
            }};
  }
  void pay_back(size_t bytes) {
    const std::lock_guard lock(mutex_);
    on_their_way_ -= bytes;
    changed_.notify_all();
  }

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // waiting_, on_their_way_, task_pending_ and ended_ are guarded by mutex_.
  std::string waiting_;
  size_t on_their_way_ = 0;
  bool task_pending_ = false;  // a task that will call send_waiting() is posted
  bool ended_ = false;
};

BoundedSender::BoundedSender(ConnectionHandle connection, size_t most_bytes)
    : connection_(std::move(connection)), account_(std::make_shared<Account>(most_bytes)) {
  PEAL_ASSERT(most_bytes > 0, "a BoundedSender needs most_bytes above 0, not {}", most_bytes);
  if (!connection_) account_->end();
}

bool BoundedSender::send(std::string_view bytes) {
  PEAL_ASSERT(!connection_.is_here(), "send() of {} bytes would wait for the loop that it is called on: use try_send()",
              bytes.size());
  return put(bytes, true);
}
bool BoundedSender::try_send(std::string_view bytes) { return put(bytes, false); }

// Copies the bytes into the account, and posts a task that sends them. The task is posted by insist(), which succeeds
// even if the mailbox is full. Each sender has at most one such task pending, so the mailbox cannot grow without limit.
bool BoundedSender::put(std::string_view bytes, bool waits) {
  if (bytes.empty()) return !ended();
  const Account::Taken taken = account_->put(bytes, waits);
  if (taken != Account::Taken::kMustPostTask) return taken == Account::Taken::kTaskPending;
  const std::shared_ptr<detail::ConnectionSet>& set = connection_.set_;
  const bool posted =
      set->mailbox().insist([set, slot = connection_.slot_, generation = connection_.generation_, account = account_] {
        account->send_waiting(set->find(slot, generation));
      });
  if (!posted) account_->end();
  return posted;
}

bool BoundedSender::ended() const { return account_->ended(); }
size_t BoundedSender::bytes_on_their_way() const { return account_->on_their_way(); }

}  // namespace peal
