// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/polled_echo.h>

#include <algorithm>
#include <utility>

#include <models/common/plain_sockets.h>

namespace peal::models {
class PolledEcho::Client final : public PollerReactor::Handler, public SlowNode {
 public:
  Client(PolledEcho& owner, Fd socket) : echo(std::move(socket), owner.options_, owner.tally_), owner_(owner) {}

  void on_ready(int fd) override {
    const PollFor before = waits_for();
    go_on();
    if (wants_ == Wants::kClose) return owner_.close(*this);
    if (before != waits_for()) owner_.reactor_.change(fd, waits_for());
  }
  // Reads from the socket and answers, or sends the rest of an answer. Then updates the slow timeout of the connection.
  // If a frame or an answer is incomplete, the timeout starts again, because a ready socket means progress. If nothing
  // is incomplete, or if the connection must be closed, the timeout is cancelled.
  void go_on() {
    wants_ = wants_ == Wants::kWrite ? echo.on_writable() : echo.on_readable();
    owner_.slow_.follow(*this, wants_ != Wants::kClose && echo.in_the_middle());
  }
  bool wants_to_close() const { return wants_ == Wants::kClose; }
  PollFor waits_for() const { return wants_ == Wants::kWrite ? PollFor::kWrite : PollFor::kRead; }

  // begin() makes this object serve a new connection with the socket `socket`. end() closes the connection. Afterwards,
  // begin() can be called again.
  void begin(Fd socket) {
    echo.begin(std::move(socket));
    wants_ = Wants::kRead;
  }
  void end() {
    unlink();
    echo.end();
  }

  EchoConnection echo;
  std::list<Client>::iterator self;

 private:
  PolledEcho& owner_;
  Wants wants_ = Wants::kRead;
};

PolledEcho::PolledEcho(const ModelOptions& options, Statistics& statistics, PollerReactor& reactor,
                       Connections connections)
    : options_(options),
      statistics_(statistics),
      reactor_(reactor),
      connections_(connections),
      slow_(options.slow_timeout) {}

PolledEcho::~PolledEcho() {
  while (!clients_.empty()) close(clients_.front());
  statistics_.add(tally_);
}

Result<void> PolledEcho::listen(int listener) {
  listener_ = listener;
  return reactor_.add(listener, PollFor::kRead, *this);
}

Result<void> PolledEcho::stop_with(const Stop& stop) { return reactor_.add(stop.fd(), PollFor::kRead, *this); }

void PolledEcho::on_ready(int fd) {
  if (fd == listener_) return accept_all();
  reactor_.stop();
}

void PolledEcho::accept_all() {
  Accepted next = accept_one(listener_, Blocking::kNo);
  for (; next.did == CallOutcome::kDone; next = accept_one(listener_, Blocking::kNo)) {
    ++tally_.accepted;
    serve(std::move(next.socket));
  }
  if (next.did == CallOutcome::kWouldBlock) return;
  reactor_.change(listener_, PollFor::kNothing);
  if (next.did == CallOutcome::kNoRoom) accept_again_ = monotonic_now() + kRoomPause;
}

PolledEcho::Client& PolledEcho::new_client(Fd socket) {
  if (pool_.empty()) {
    clients_.emplace_front(*this, std::move(socket));
  } else {
    clients_.splice(clients_.begin(), pool_, pool_.begin());  // the one used last: its memory is in the CPU's cache
    clients_.front().begin(std::move(socket));
  }
  clients_.front().self = clients_.begin();
  return clients_.front();
}

void PolledEcho::release(Client& client) {
  if (connections_ == Connections::kNew) {
    clients_.erase(client.self);
  } else {
    client.end();
    pool_.splice(pool_.begin(), clients_, client.self);
  }
}

void PolledEcho::serve(Fd socket, OnHandOver on_hand_over) {
  Client& client = new_client(std::move(socket));
  if (on_hand_over == OnHandOver::kRead) {
    client.go_on();
    if (client.wants_to_close()) {
      ++tally_.ended;
      return release(client);
    }
  }
  if (reactor_.add(client.echo.fd(), client.waits_for(), client)) return;
  release(client);
  ++tally_.refused;
}

void PolledEcho::close(Client& client) {
  ++tally_.ended;
  reactor_.remove(client.echo.fd());
  release(client);
}

TimePoint PolledEcho::next_deadline() const { return std::min(slow_.next(), accept_again_); }

void PolledEcho::after_batch() {
  if (next_deadline() != kNever) {
    const TimePoint now = monotonic_now();
    while (SlowNode* late = slow_.take_late(now)) {
      ++tally_.timed_out;
      close(static_cast<Client&>(*late));
    }
    if (accept_again_ <= now) {
      accept_again_ = kNever;
      reactor_.change(listener_, PollFor::kRead);
    }
  }
  if (tally_.accepted + tally_.ended > 0) statistics_.add(tally_);
}

}  // namespace peal::models
