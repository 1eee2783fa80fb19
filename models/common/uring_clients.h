// SPDX-License-Identifier: BSD-3-Clause
// UringClients: what the models on io_uring share: accepting, the slow ones, and the end, when every connection's
// operations have to come back from the kernel before its memory may go. What a connection asks the kernel for is the
// model's. One thread.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <optional>
#include <utility>

#include <models/common/completion_ring.h>
#include <models/common/coroutine/slow_list.h>
#include <models/common/plain_sockets.h>
#include <models/model_table.h>
#include <peal/base/assert.h>

namespace peal::models {

// What a completion is of. Of the last two there is a connection.
enum class UringKind : uint8_t { kIgnored, kAccept, kStop, kReceive, kSend };

// A completion's tag is the address of the connection, and in its lowest bits what it is of.
struct alignas(8) UringClient : SlowNode {
  explicit UringClient(Fd its_socket) : socket(std::move(its_socket)) {}
  uint64_t tag(UringKind kind) const { return reinterpret_cast<uintptr_t>(this) | static_cast<uint64_t>(kind); }

  Fd socket;
  unsigned under_way = 0;  // operations the kernel has
  bool closing = false;    // shut down: its operations come back one by one
};

template <class Client>
class UringClients {
 public:
  UringClients(const UringClients&) = delete;
  UringClients& operator=(const UringClients&) = delete;

  // Until the stop is asked, and every connection has ended.
  Result<void> serve();

 protected:
  UringClients(ModelRun& run, CompletionRing& ring, Times accept_times)
      : run_(run), ring_(ring), accept_times_(accept_times), slow_(run.options.slow_timeout) {}
  ~UringClients() { run_.statistics.add(tally_); }

  // Asks for its first operation.
  virtual void begin(Client& client) = 0;
  // An operation of it came back; the model counts what is under way.
  virtual void completed(Client& client, UringKind kind, const CompletionRing::Completion& completion) = 0;

  CompletionRing& ring() { return ring_; }
  const ModelOptions& options() const { return run_.options; }
  Tally& tally() { return tally_; }
  // Ends it: now if the kernel has nothing of it, else when that has come back, which it does at once.
  void close(Client& client);
  // It came on; is it in the middle of something?
  void follow_slow_timeout(Client& client, bool in_the_middle);

 private:
  struct Entry : Client {
    using Client::Client;
    typename std::list<Entry>::iterator self;
  };

  static constexpr uint64_t kMask = 7;

  void accept() { ring_.accept(run_.listener.get(), accept_times_, static_cast<uint64_t>(UringKind::kAccept)); }
  void accepted(const CompletionRing::Completion& completion);
  void dispatch(const CompletionRing::Completion& completion);
  void close_all();
  void after_batch();

  ModelRun& run_;
  CompletionRing& ring_;
  const Times accept_times_;
  bool stopping_ = false;
  TimePoint accept_again_ = kNever;
  std::optional<TimePoint> now_;  // of this batch, once somebody asked
  Tally tally_;
  SlowList slow_;
  std::list<Entry> clients_;
};

template <class Client>
Result<void> UringClients<Client>::serve() {
  send_without_delay(run_.listener.get());
  ring_.wait_readable(run_.stop.fd(), static_cast<uint64_t>(UringKind::kStop));
  accept();
  std::array<CompletionRing::Completion, 256> completions{};
  while (!stopping_ || !clients_.empty()) {
    if (Result<void> done = ring_.wait(std::min(slow_.next(), accept_again_)); !done) return done;
    while (const size_t count = ring_.take(completions)) {
      now_.reset();
      for (size_t i = 0; i < count; ++i) dispatch(completions[i]);
      after_batch();
    }
    after_batch();
  }
  return {};
}

template <class Client>
void UringClients<Client>::dispatch(const CompletionRing::Completion& completion) {
  const auto kind = static_cast<UringKind>(completion.tag & kMask);
  switch (kind) {
    case UringKind::kIgnored: return;
    case UringKind::kAccept: return accepted(completion);
    case UringKind::kStop: return close_all();
    case UringKind::kReceive:
    case UringKind::kSend: break;
  }
  auto* const client = reinterpret_cast<UringClient*>(static_cast<uintptr_t>(completion.tag & ~kMask));
  completed(static_cast<Client&>(*client), kind, completion);
}

template <class Client>
void UringClients<Client>::accepted(const CompletionRing::Completion& completion) {
  const int error = -completion.result;
  if (completion.result >= 0) {
    Fd socket(completion.result);
    if (stopping_) return;
    ++tally_.accepted;
    Entry& client = clients_.emplace_front(std::move(socket), run_.options.max_body_bytes);
    client.self = clients_.begin();
    begin(client);
  } else if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
    accept_again_ = monotonic_now() + kRoomPause;
    return;
  }
  if (!completion.more() && !stopping_) accept();
}

template <class Client>
void UringClients<Client>::close(Client& client) {
  client.unlink();
  if (client.under_way == 0) {
    ++tally_.ended;
    clients_.erase(static_cast<Entry&>(client).self);
  } else if (!std::exchange(client.closing, true)) {
    ::shutdown(client.socket.get(), SHUT_RDWR);
  }
}

template <class Client>
void UringClients<Client>::follow_slow_timeout(Client& client, bool in_the_middle) {
  slow_.follow(client, in_the_middle && !client.closing, [this] {
    if (!now_) now_ = monotonic_now();
    return *now_;
  });
}

template <class Client>
void UringClients<Client>::close_all() {
  stopping_ = true;
  accept_again_ = kNever;
  for (auto client = clients_.begin(); client != clients_.end();) close(*client++);
}

template <class Client>
void UringClients<Client>::after_batch() {
  if (slow_.next() != kNever || accept_again_ != kNever) {
    const TimePoint now = monotonic_now();
    while (SlowNode* late = slow_.take_late(now)) {
      ++tally_.timed_out;
      close(static_cast<Entry&>(*late));
    }
    if (accept_again_ <= now) {
      accept_again_ = kNever;
      accept();
    }
  }
  if (tally_.accepted + tally_.ended > 0) run_.statistics.add(tally_);
}

}  // namespace peal::models
