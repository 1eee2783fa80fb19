// SPDX-License-Identifier: BSD-3-Clause
// trigger_poll (Poll): poll(2) only reports which client has sent something. The client is still served with blocking
// calls.
//
//   one thread:  poll ──> the listener is readable: accept ─> into the list ──────────────────────┐
//                 ^   └─> a client is readable: read ─> frames ─> work ─> write ─> ... to its end ─┤
//                 └───────────────────────────────────────────────────────────────────────────────┘
//
// One thread waits, accepts, reads, computes and writes. As in trigger_select, a client that connects and sends nothing
// delays no other client. But a client that has sent its first byte is served to its end, while all others wait. The
// list has no limit except the number of open files. As in trigger_select, each wait copies the list to the kernel and
// searches it.
#include <poll.h>

#include <array>
#include <utility>
#include <vector>

#include <models/common/reactor/trigger_service.h>
#include <models/models.h>

namespace peal::models {
namespace {

class PollTrigger {
 public:
  explicit PollTrigger(TriggerService& service) : service_(service) {
    entries_.push_back({.fd = service.stop(), .events = POLLIN, .revents = 0});
    entries_.push_back({.fd = service.listener(), .events = POLLIN, .revents = 0});
  }

  // Waits until the listener or a client is readable. Then serves the readable clients one after another, each until
  // its connection ends. All other clients wait meanwhile, because the only thread serves each client with blocking
  // calls. Accepts new connections after that. Returns false if a stop was requested or the wait has failed.
  bool turn() {
    const bool has_room = service_.take_has_room();
    entries_[kListener].fd = has_room ? service_.listener() : -1;  // poll(2) skips negative fds
    const int timeout_ms = has_room ? -1 : static_cast<int>(kRoomPause.count());
    if (::poll(entries_.data(), entries_.size(), timeout_ms) < 0) return errno == EINTR;
    if (entries_[kStop].revents != 0) return false;
    // The loop goes from the last client to the first. The reason: take_out(i) removes client i and moves the last
    // client to index i. In this order, the moved client has already been checked.
    for (size_t i = clients_.size(); i-- > 0 && !service_.stopping();) {
      if (entries_[kFirstClient + i].revents != 0) service_.serve(take_out(i));
    }
    if (entries_[kListener].revents != 0) service_.accept([this](Fd client) { add(std::move(client)); });
    return true;
  }

 private:
  static constexpr size_t kStop = 0, kListener = 1, kFirstClient = 2;

  void add(Fd client) {
    entries_.push_back({.fd = client.get(), .events = POLLIN, .revents = 0});
    clients_.push_back(std::move(client));
  }
  Fd take_out(size_t index) {
    Fd client = std::exchange(clients_[index], std::move(clients_.back()));
    entries_[kFirstClient + index] = entries_.back();
    clients_.pop_back();
    entries_.pop_back();
    return client;
  }

  TriggerService& service_;
  std::vector<pollfd> entries_;  // the stop signal, the listener, then the clients in the order of clients_
  std::vector<Fd> clients_;
};

}  // namespace

Result<void> trigger_poll(ModelRun& run) {
  Result<std::unique_ptr<TriggerService>> service = TriggerService::make(run);
  if (!service) return std::unexpected(service.error());
  PollTrigger trigger(**service);
  while (trigger.turn()) {
  }
  return {};
}

}  // namespace peal::models
