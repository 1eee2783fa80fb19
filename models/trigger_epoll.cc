// SPDX-License-Identifier: BSD-3-Clause
// trigger_epoll (Epoll): epoll(7) only reports which client has sent something. The client is still served with
// blocking calls.
//
//   one thread:  epoll_wait ──> the listener is readable: accept ─> into the epoll ──────────────────────┐
//                     ^     └─> a client is readable: read ─> frames ─> work ─> write ─> ... to its end ─┤
//                     └──────────────────────────────────────────────────────────────────────────────────┘
//
// One thread waits, accepts, reads, computes and writes. As in trigger_select, a client that connects and sends nothing
// delays no other client. But a client that has sent its first byte is served to its end, while all others wait. The
// cost of a wait depends on how many sockets are ready, not on how many are open. That gains little here, because waits
// are rare: every ready client is served to its end first.
#include <sys/epoll.h>

#include <array>
#include <unordered_map>
#include <utility>

#include <models/common/reactor/trigger_service.h>
#include <models/models.h>

namespace peal::models {
namespace {

class EpollTrigger {
 public:
  explicit EpollTrigger(TriggerService& service) : service_(service) {}

  Result<void> begin() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return fail(errno);
    if (!watch(EPOLL_CTL_ADD, service_.stop(), EPOLLIN)) return fail(errno);
    if (!watch(EPOLL_CTL_ADD, service_.listener(), EPOLLIN)) return fail(errno);
    return {};
  }

  // Waits until the listener or a client is readable, or a stop is requested. If the last accept() found no free fd or
  // memory, waits without the listener, and at most for kRoomPause. After the wait, accepts new connections, and serves
  // each readable client with blocking calls until its connection ends. Meanwhile all other clients wait, because the
  // model has only one thread. Returns false if a stop was requested or the wait has failed.
  bool turn() {
    const bool has_room = service_.take_has_room();
    if (std::exchange(listener_watched_, has_room) != has_room) {
      watch(EPOLL_CTL_MOD, service_.listener(), has_room ? EPOLLIN : 0U);
    }
    std::array<epoll_event, kEvents> events;
    const int timeout_ms = has_room ? -1 : static_cast<int>(kRoomPause.count());
    const int count = ::epoll_wait(epoll_.get(), events.data(), kEvents, timeout_ms);
    if (count < 0) return errno == EINTR;
    for (int i = 0; i < count && !service_.stopping(); ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      if (fd == service_.stop()) return false;
      if (fd == service_.listener()) {
        service_.accept([this](Fd client) { add(std::move(client)); });
      } else {
        service_.serve(std::move(clients_.extract(fd).mapped()));  // closing the socket also removes it from the epoll
      }
    }
    return !service_.stopping();  // the loop may have ended before it reached the event of the stop signal
  }

 private:
  static constexpr int kEvents = 256;

  bool watch(int operation, int fd, uint32_t events) {
    epoll_event event{.events = events, .data = {.fd = fd}};
    return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
  }
  void add(Fd client) {
    const int fd = client.get();
    if (!watch(EPOLL_CTL_ADD, fd, EPOLLIN)) return service_.refuse(std::move(client));
    clients_.emplace(fd, std::move(client));
  }

  TriggerService& service_;
  Fd epoll_;
  std::unordered_map<int, Fd> clients_;  // the key is the fd
  bool listener_watched_ = true;
};

}  // namespace

Result<void> trigger_epoll(ModelRun& run) {
  Result<std::unique_ptr<TriggerService>> service = TriggerService::make(run);
  if (!service) return std::unexpected(service.error());
  EpollTrigger trigger(**service);
  if (Result<void> begun = trigger.begin(); !begun) return begun;
  while (trigger.turn()) {
  }
  return {};
}

}  // namespace peal::models
