// SPDX-License-Identifier: BSD-3-Clause
// trigger_poll (Poll): poll(2) used as a doorbell only. It says who came; the service is as blocking as ever.
//
//   one thread:  poll ──> the listener is readable: accept ─> into the list ──────────────────────┐
//                 ^   └─> a client is readable: read ─> frames ─> work ─> write ─> ... to its end ─┤
//                 └───────────────────────────────────────────────────────────────────────────────┘
//
// Who waits, accepts, reads, computes and writes: the one thread. Work never changes hands. As with trigger_select, a
// client that connects and says nothing stops nobody, and whoever has sent a first byte is served to its end while all
// the others wait. The list has no bound but that of open files; it too is copied and searched at each wait.
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

  // One wait, and what it brought. False: all shall end.
  bool turn() {
    const bool has_room = service_.take_has_room();
    entries_[kListener].fd = has_room ? service_.listener() : -1;  // who is negative is passed over
    const int timeout_ms = has_room ? -1 : static_cast<int>(kRoomPause.count());
    if (::poll(entries_.data(), entries_.size(), timeout_ms) < 0) return errno == EINTR;
    if (entries_[kStop].revents != 0) return false;
    // From the end: the last one takes the place of who left, and has had its turn.
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
  std::vector<pollfd> entries_;  // the stop signal, the listener, and the clients in their order
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
