// SPDX-License-Identifier: BSD-3-Clause
// trigger_select (Select): select(2) only reports which client has sent something. The client is still served with
// blocking calls.
//
//   one thread:  select ──> the listener is readable: accept ─> into the set ───────────────────────┐
//                  ^    └─> a client is readable: read ─> frames ─> work ─> write ─> ... to its end ─┤
//                  └────────────────────────────────────────────────────────────────────────────────┘
//
// One thread waits, accepts, reads, computes and writes. It has one advantage over blocking_single: a client that
// connects and sends nothing delays no other client. But a client that has sent its first byte is served to its end,
// while all others wait. At each wait, the set is copied to the kernel, and both the kernel and the program search it.
// An fd of FD_SETSIZE (1024) or more does not fit into the set, so such a client is closed immediately.
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

  // Waits until the listener or a client is readable. Then serves the readable clients one after another, each until
  // its connection ends, because the blocking calls of a client occupy the only thread. Afterwards accepts the waiting
  // connections. If no fd or memory was free for the last accept, the wait does not include the listener, and ends
  // after kRoomPause at the latest. Returns false if a stop was requested or the wait has failed.
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
        PEAL_LOG_WARN("refused a connection with fd {}, because select(2) needs an fd below {} ({} more like it)", fd,
                      FD_SETSIZE, *more);
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
  std::array<Fd, FD_SETSIZE> clients_;  // indexed by fd
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
