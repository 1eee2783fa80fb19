// SPDX-License-Identifier: BSD-3-Clause
// UringClients: the code that the models on io_uring share. It accepts connections, closes slow ones, and ends the
// model. The model itself decides which operations (io_uring requests) a connection needs. The memory of a connection
// is freed only after all its operations have completed. Use a UringClients on one thread only.
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

// The kind of an io_uring request. The tag of a request contains the kind. The kernel copies the tag into each
// completion of the request. kReceive and kSend requests belong to a connection. A kAccept request waits for new
// connections, and the kStop request waits for SIGTERM or SIGINT. kIgnored is the kind of a cancellation
// (CompletionRing::cancel()), because the server ignores the completion of a cancellation.
enum class UringKind : uint8_t { kIgnored, kAccept, kStop, kReceive, kSend };

// The data of one connection. Each io_uring request of the connection has a 64-bit tag. The tag is the address of this
// object, with the UringKind stored in the lowest three bits. In the address, these three bits are always 0, because
// alignas(8) makes the address a multiple of 8.
struct alignas(8) UringClient : SlowNode {
  explicit UringClient(Fd its_socket) : socket(std::move(its_socket)) {}
  uint64_t tag(UringKind kind) const { return reinterpret_cast<uintptr_t>(this) | static_cast<uint64_t>(kind); }

  Fd socket;
  unsigned under_way = 0;  // operations that have not completed
  bool closing = false;    // the socket is shut down, and its last operations will complete soon
};

template <class Client>
class UringClients {
 public:
  UringClients(const UringClients&) = delete;
  UringClients& operator=(const UringClients&) = delete;

  // Accepts and serves connections until SIGTERM or SIGINT arrives. Then shuts down every socket, so that the
  // operations of the connections complete soon. Returns when every connection has ended. If CompletionRing::wait()
  // fails, returns the error immediately.
  Result<void> serve();

 protected:
  UringClients(ModelRun& run, CompletionRing& ring, Times accept_times)
      : run_(run), ring_(ring), accept_times_(accept_times), slow_(run.options.slow_timeout) {}
  ~UringClients() { run_.statistics.add(tally_); }

  // Called once for each accepted connection. The implementation requests the first operation of `client`.
  virtual void begin(Client& client) = 0;
  // Called when an operation of `client` has completed. The implementation must update client.under_way, the number of
  // operations of this client that have not completed.
  virtual void completed(Client& client, UringKind kind, const CompletionRing::Completion& completion) = 0;

  CompletionRing& ring() { return ring_; }
  const ModelOptions& options() const { return run_.options; }
  Tally& tally() { return tally_; }
  // Ends a connection. If the kernel holds no operation of the connection, closes the socket and destroys `client`.
  // Otherwise only shuts the socket down, so that the operations complete soon. In this case, call close() again each
  // time an operation has completed. The call after the last operation closes the socket and destroys `client`.
  void close(Client& client);
  // Updates the slow timeout of a connection (ModelOptions::slow_timeout). When this timeout ends, the server closes
  // the connection. Call follow_slow_timeout() each time the connection has made progress. `in_the_middle` says whether
  // a frame or an answer is still incomplete. If true, the timeout starts again from the beginning. If false, the
  // timeout is cancelled, because an idle connection may stay open without a limit. After close(client), the timeout is
  // always cancelled.
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
  std::optional<TimePoint> now_;  // the time of this batch of events, or empty if the clock was not read yet
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
