// SPDX-License-Identifier: BSD-3-Clause
// io_busy_polling: non-blocking input and output, the second of the five classic I/O models, with nothing that waits.
//
//   one thread:  ┌─> accept? ──> socket 1: read? ──> socket 2: read? ──> ... socket n: read? ──┐
//                │               frames ─> work ─> write           EAGAIN, nearly always       │
//                └──────────── never asleep: the next round begins at once <───────────────────┘
//
// Who accepts, reads, computes and writes: the one thread, which asks every socket in turn whether there is something.
// Work never changes hands. It has no wake-up to wait for, so with few busy connections nothing answers faster; but it
// burns a whole CPU to serve nobody, and every connection costs a system call a round: with n connections of which one
// is busy, n - 1 of n calls are in vain, and the busy one waits for all of them. That is what select(2) was made for.
#include <algorithm>
#include <list>

#include <models/common/coroutine/slow_list.h>
#include <models/common/echo/echo_connection.h>
#include <models/common/plain_sockets.h>
#include <models/models.h>

namespace peal::models {
namespace {

// After so many questions it looks at the clock, and whether it is to stop.
constexpr unsigned kQuestionsPerLook = 256;

class BusyServer {
 public:
  explicit BusyServer(ModelRun& run) : run_(run), slow_(run.options.slow_timeout) {}
  ~BusyServer() {
    tally_.ended += clients_.size();
    run_.statistics.add(tally_);
  }
  BusyServer(const BusyServer&) = delete;
  BusyServer& operator=(const BusyServer&) = delete;

  void serve() {
    while (look()) {
      for (unsigned asked = 0; asked < kQuestionsPerLook;) asked += round();
    }
  }

 private:
  struct Client : SlowNode {
    Client(BusyServer& server, Fd socket) : echo(std::move(socket), server.run_.options, server.tally_) {}

    EchoConnection echo;
    Wants wants = Wants::kRead;
  };

  // False: it is time to stop.
  bool look() {
    now_ = monotonic_now();
    while (SlowNode* late = slow_.take_late(now_)) {
      ++tally_.timed_out;
      ++tally_.ended;
      clients_.remove_if([late](const Client& client) { return &client == late; });
    }
    if (tally_.accepted + tally_.ended > 0) run_.statistics.add(tally_);
    return !run_.stop.asked();
  }

  // Asks everybody once; how many questions that was.
  unsigned round() {
    unsigned asked = 1;
    accept();
    for (auto client = clients_.begin(); client != clients_.end(); ++asked) {
      if (ask(*client)) {
        ++client;
      } else {
        ++tally_.ended;
        client = clients_.erase(client);
      }
    }
    return asked;
  }

  void accept() {
    if (now_ < accept_again_) return;
    Accepted next = accept_one(run_.listener.get(), Blocking::kNo);
    for (; next.did == CallOutcome::kDone; next = accept_one(run_.listener.get(), Blocking::kNo)) {
      ++tally_.accepted;
      clients_.emplace_back(*this, std::move(next.socket));
    }
    if (next.did == CallOutcome::kNoRoom) accept_again_ = now_ + kRoomPause;
  }

  // False: it has ended.
  bool ask(Client& client) {
    EchoConnection& echo = client.echo;
    const size_t unsent = echo.unsent_bytes();
    const bool writes = client.wants == Wants::kWrite;
    client.wants = writes ? echo.on_writable() : echo.on_readable();
    if (client.wants == Wants::kClose) return false;
    const bool moved = writes ? echo.unsent_bytes() < unsent : echo.unread();
    if (moved) slow_.follow(client, echo.in_the_middle(), [this] { return now_; });
    return true;
  }

  ModelRun& run_;
  Tally tally_;
  SlowList slow_;
  std::list<Client> clients_;
  TimePoint now_;  // of the last look
  TimePoint accept_again_ = TimePoint::min();
};

}  // namespace

Result<void> io_busy_polling(ModelRun& run) {
  BusyServer(run).serve();
  return {};
}

}  // namespace peal::models
