// SPDX-License-Identifier: BSD-3-Clause
// libio_proactor (libio's proactor): a program that is written as if the kernel read and wrote for it. In fact it runs
// on a poller, which only reports when a socket is ready.
//
//   a connection:  read ───────────> "so many bytes were read" ─> frames ─> work ─> write ──┐
//                    ^                                                                      │
//                    └── nothing left ── "so many bytes were written" <── some left: again ─┘
//
// The proactor (common/reactor/proactor.h) accepts, reads and writes on the only thread, when the poller reports a
// socket as ready. The code of a connection makes no system call itself. It requests one operation at a time, and is
// called when that operation has ended. When bytes have been read, this code computes.
//
// The program could use a true proactor, such as io_uring (io_uring_receive_each), without a change. It never has to
// handle EAGAIN. The price is that each operation goes through a queue of completions. A request that computes or
// sleeps delays every other connection.
#include <list>

#include <models/common/coroutine/slow_list.h>
#include <models/common/echo/take_frames.h>
#include <models/common/plain_sockets.h>
#include <models/common/reactor/proactor.h>
#include <models/models.h>

namespace peal::models {
namespace {

class ProactiveServer final : private Proactor::Initiator,
                              private Proactor::Timekeeper,
                              private PollerReactor::Handler {
 public:
  ProactiveServer(ModelRun& run, PollerReactor& reactor)
      : run_(run), reactor_(reactor), proactor_(reactor), slow_(run.options.slow_timeout) {}
  ~ProactiveServer() {
    while (!clients_.empty()) close(clients_.front());
    run_.statistics.add(tally_);
  }
  ProactiveServer(const ProactiveServer&) = delete;
  ProactiveServer& operator=(const ProactiveServer&) = delete;

  Result<void> serve() {
    if (Result<void> done = reactor_.add(run_.stop.fd(), PollFor::kRead, *this); !done) return done;
    if (Result<void> done = proactor_.attach(run_.listener.get(), *this); !done) return done;
    proactor_.accept(run_.listener.get());
    return proactor_.run(*this);
  }

 private:
  class Client;

  void on_accepted(Accepted next) override;
  void on_ready(int) override { reactor_.stop(); }  // called for the fd of the stop signal
  TimePoint next_deadline() const override { return std::min(slow_.next(), accept_again_); }
  void after_batch() override;
  void close(Client& client);

  ModelRun& run_;
  PollerReactor& reactor_;
  Proactor proactor_;
  TimePoint accept_again_ = kNever;
  Tally tally_;
  SlowList slow_;
  std::list<Client> clients_;
};

class ProactiveServer::Client final : public Proactor::Initiator, public SlowNode {
 public:
  Client(ProactiveServer& server, Fd socket)
      : server_(server), socket_(std::move(socket)), buffer_(server.run_.options.max_body_bytes) {}

  int fd() const { return socket_.get(); }
  void read() { server_.proactor_.read(fd(), buffer_); }

  void on_read(Moved moved) override {
    if (moved.did != CallOutcome::kDone) return server_.close(*this);
    ending_ = take_frames(buffer_, server_.run_.options.work, server_.tally_) == FrameState::kTooLong;
    go_on();
  }
  void on_written(Moved moved) override {
    if (moved.did != CallOutcome::kDone) return server_.close(*this);
    go_on();
  }

  std::list<Client>::iterator self;

 private:
  void go_on() {
    if (ending_ && !buffer_.has_answer()) return server_.close(*this);
    if (buffer_.has_answer()) {
      server_.proactor_.write(fd(), buffer_);
    } else {
      read();
    }
    server_.slow_.follow(*this, buffer_.has_answer() || buffer_.in_frame());
  }

  ProactiveServer& server_;
  const Fd socket_;
  EchoBytes buffer_;
  bool ending_ = false;  // true: no more is read, and the connection ends after its answer
};

void ProactiveServer::on_accepted(Accepted next) {
  if (next.did == CallOutcome::kEnd) return;
  if (next.did == CallOutcome::kNoRoom) {
    // No fd or memory is free for another connection. The connections stay in the backlog, and the listener stays
    // readable. Therefore the poller would report the listener again and again. To avoid these reports, the server
    // stops watching the listener, and accepts again after kRoomPause.
    reactor_.change(run_.listener.get(), PollFor::kNothing);
    accept_again_ = monotonic_now() + kRoomPause;
    return;
  }
  ++tally_.accepted;
  Client& client = clients_.emplace_front(*this, std::move(next.socket));
  client.self = clients_.begin();
  if (proactor_.attach(client.fd(), client)) {
    client.read();
  } else {
    clients_.pop_front();
    ++tally_.refused;
  }
  proactor_.accept(run_.listener.get());
}

void ProactiveServer::after_batch() {
  if (next_deadline() != kNever) {
    const TimePoint now = monotonic_now();
    while (SlowNode* late = slow_.take_late(now)) {
      ++tally_.timed_out;
      close(static_cast<Client&>(*late));
    }
    if (accept_again_ <= now) {
      accept_again_ = kNever;
      reactor_.change(run_.listener.get(), PollFor::kRead);
      proactor_.accept(run_.listener.get());
    }
  }
  if (tally_.accepted + tally_.ended > 0) run_.statistics.add(tally_);
}

void ProactiveServer::close(Client& client) {
  ++tally_.ended;
  proactor_.detach(client.fd());
  clients_.erase(client.self);
}

}  // namespace

Result<void> libio_proactor(ModelRun& run) {
  Result<std::unique_ptr<PollerReactor>> reactor = PollerReactor::make(run.options.poller, run.options.events_per_wait);
  if (!reactor) return std::unexpected(reactor.error());
  ProactiveServer server(run, **reactor);
  return server.serve();
}

}  // namespace peal::models
