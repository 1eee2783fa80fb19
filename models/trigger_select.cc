// SPDX-License-Identifier: BSD-3-Clause
// trigger_select (Select): select(2) used as a doorbell only. It says who came; the service is as blocking as ever.
//
//   one thread:  select ──> the listener is readable: accept ─> into the set ───────────────────────┐
//                  ^    └─> a client is readable: read ─> frames ─> work ─> write ─> ... to its end ─┤
//                  └────────────────────────────────────────────────────────────────────────────────┘
//
// Who waits, accepts, reads, computes and writes: the one thread. Work never changes hands. What is gained over
// blocking_single: a client that connects and says nothing stops nobody. But whoever has sent a first byte is served to
// its end, one client at a time, and the whole set waits for it. The set is copied into the kernel and searched by both
// sides at each wait; it holds no fd from FD_SETSIZE (1024) on: such a client is closed at once.
#include <sys/select.h>

#include <algorithm>
#include <array>
#include <utility>

#include <models/common/reactor/trigger_service.h>
#include <models/models.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>

namespace peal::models {
namespace {

class SelectTrigger {
 public:
  explicit SelectTrigger(TriggerService& service)
      : service_(service), end_(std::max(service.stop(), service.listener()) + 1) {
    FD_ZERO(&waiting_);
    FD_SET(service_.stop(), &waiting_);
  }

  // One wait, and what it brought. False: all shall end.
  bool turn() {
    const bool has_room = service_.take_has_room();
    fd_set readable = waiting_;
    if (has_room) FD_SET(service_.listener(), &readable);
    timeval pause{.tv_sec = 0, .tv_usec = std::chrono::microseconds(kRoomPause).count()};
    if (::select(end_, &readable, nullptr, nullptr, has_room ? nullptr : &pause) < 0) return errno == EINTR;
    if (FD_ISSET(service_.stop(), &readable)) return false;
    for (int fd = 0; fd < end_ && !service_.stopping(); ++fd) {
      Fd& client = clients_[static_cast<size_t>(fd)];
      if (!client || !FD_ISSET(fd, &readable)) continue;
      FD_CLR(fd, &waiting_);
      service_.serve(std::move(client));
    }
    if (FD_ISSET(service_.listener(), &readable)) service_.accept([this](Fd client) { add(std::move(client)); });
    return true;
  }

 private:
  void add(Fd client) {
    const int fd = client.get();
    if (fd >= FD_SETSIZE) {
      service_.refuse(std::move(client));
      if (const auto more = limiter_.admit(monotonic_now())) {
        PEAL_LOG_WARN("fd {} is refused: select(2) takes those below {} ({} more like it)", fd, FD_SETSIZE, *more);
      }
      return;
    }
    FD_SET(fd, &waiting_);
    end_ = std::max(end_, fd + 1);
    clients_[static_cast<size_t>(fd)] = std::move(client);
  }

  TriggerService& service_;
  LogLimiter limiter_{std::chrono::seconds(1)};
  fd_set waiting_{};
  int end_;
  std::array<Fd, FD_SETSIZE> clients_;  // each at the place of its number
};

}  // namespace

Result<void> trigger_select(ModelRun& run) {
  Result<std::unique_ptr<TriggerService>> service = TriggerService::make(run);
  if (!service) return std::unexpected(service.error());
  if (std::max((*service)->stop(), (*service)->listener()) >= FD_SETSIZE) return fail(EMFILE);
  SelectTrigger trigger(**service);
  while (trigger.turn()) {
  }
  return {};
}

}  // namespace peal::models
