// SPDX-License-Identifier: BSD-3-Clause
// io_busy_polling: non-blocking input and output, the second of the five classic I/O models. No system call ever waits.
//
//   one thread:  ┌─> accept? ──> socket 1: read? ──> socket 2: read? ──> ... socket n: read? ──┐
//                │               frames ─> work ─> write           EAGAIN, nearly always       │
//                └──────────── never asleep: the next round begins at once <───────────────────┘
//
// One thread accepts, reads, computes and writes. It tries every socket, one after another, whether or not there is
// something to do. It never sleeps, so it never has to be woken: with few and busy connections, no other model answers
// faster.
//
// The price is a whole CPU, even without clients, and a system call for each connection in each round. If one of n
// connections is busy, n - 1 of n calls find nothing, and the busy connection waits for them. select(2) was invented to
// avoid that.
#include <algorithm>
#include <list>

#include <models/common/coroutine/slow_list.h>
#include <models/common/echo/echo_connection.h>
#include <models/common/plain_sockets.h>
#include <models/models.h>

namespace peal::models {
namespace {

// The server never sleeps. In each round, the server tries every socket once: it tries to accept, to read or to write.
// The server adds up the tries of successive rounds. When the sum is at least kQuestionsPerLook at the end of a round,
// the server reads the clock, checks for a stop signal, and counts from 0 again. A check costs a system call, so a
// server with few sockets does not check after every round.
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

  // Reads the clock. Closes each connection that has an incomplete frame or an unsent answer, and has made no progress
  // for the time --slow-timeout. Returns false if SIGTERM or SIGINT has arrived.
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

  // Accepts the waiting connections, then tries to read from or write to each client once. Returns the number of
  // sockets that it has tried. The listener is one of them.
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

  // If a part of the client's answer is unsent, sends more of it. Otherwise reads once and answers the complete frames.
  // Returns false if the connection must be closed.
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
  TimePoint now_;  // when look() last read the clock
  TimePoint accept_again_ = TimePoint::min();
};

}  // namespace

Result<void> io_busy_polling(ModelRun& run) {
  BusyServer(run).serve();
  return {};
}

}  // namespace peal::models
