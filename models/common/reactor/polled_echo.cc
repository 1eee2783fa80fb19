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
    const Wants next = wants_ == Wants::kWrite ? echo.on_writable() : echo.on_readable();
    if (next == Wants::kClose) return owner_.close(*this);
    if (std::exchange(wants_, next) != next) {
      owner_.reactor_.change(fd, next == Wants::kWrite ? PollFor::kWrite : PollFor::kRead);
    }
    if (echo.in_the_middle()) {
      owner_.slow_.came_on(*this, monotonic_now());
    } else {
      unlink();
    }
  }

  EchoConnection echo;
  std::list<Client>::iterator self;

 private:
  PolledEcho& owner_;
  Wants wants_ = Wants::kRead;
};

PolledEcho::PolledEcho(const ModelOptions& options, Statistics& statistics, PollerReactor& reactor)
    : options_(options), statistics_(statistics), reactor_(reactor), slow_(options.slow_timeout) {}

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

void PolledEcho::serve(Fd socket) {
  Client& client = clients_.emplace_front(*this, std::move(socket));
  client.self = clients_.begin();
  if (reactor_.add(client.echo.fd(), PollFor::kRead, client)) return;
  clients_.pop_front();
  ++tally_.refused;
}

void PolledEcho::close(Client& client) {
  ++tally_.ended;
  reactor_.remove(client.echo.fd());
  clients_.erase(client.self);
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
