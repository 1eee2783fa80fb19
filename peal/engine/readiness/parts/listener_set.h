// SPDX-License-Identifier: BSD-3-Clause
// ListenerSet: the listening sockets of a ReadinessEngine: who they are, how much they accept in a turn, what happens
// when accepting fails, and the clients that come late. On the engine's thread, but for bind(), adopt() and
// local_address() before the engine opens.
//
// Accepting never spins and never dies. Out of fds or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM), a listener sheds a few
// waiting clients with a spare fd (close the spare, accept, close, open the spare again: the client sees its connection
// end instead of hanging), then pauses with a doubling back-off of 10 ms to 1 s. One log line a second at most.
#pragma once

#include <algorithm>
#include <vector>

#include <peal/base/log_limiter.h>
#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/engine/readiness/poller.h>
#include <peal/engine/socket_file.h>

namespace peal::detail {

class ListenerSet {
 public:
  explicit ListenerSet(EngineStats& stats) : stats_(stats) {}

  Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options);
  Result<ListenerId> adopt(Fd listening, const AdoptOptions& options);
  Result<SocketAddress> local_address(ListenerId id) const;

  // From here on listeners can be polled; `key` makes what the poller reports them by.
  using MakeKey = uint64_t (*)(uint32_t slot, uint32_t generation);
  void open(Poller& poller, MakeKey key);
  void accept(ListenerId id, AcceptEvents& events);
  void stop(ListenerId id);
  void stop_all();

  // The poller says that connections wait: accepts a bounded number of them. `generation` is the id's low half.
  void accept_ready(uint32_t slot, uint16_t generation);
  // Ends the pauses that are over by `now`.
  void resume(TimePoint now);
  // When resume() has something to do next; kNever when nothing is paused.
  TimePoint next_resume() const { return next_resume_; }
  // Delivers what the stopped ones still hold (only if `deliver_late`), then their last completions; returns how many.
  size_t deliver_last_completions(bool deliver_late);
  bool has_last_completions() const { return !last_completions_.empty(); }

 private:
  struct Listener : SlotLinks {
    Fd fd;
    SocketFile file;                 // to be removed in the end; none: it is somebody else's
    bool shared = false;             // as AdoptOptions has it
    AcceptEvents* events = nullptr;  // from accept() on
    TimePoint resume_at = kNever;    // paused until then
    int accepts = 1;         // at the next event: finding nobody costs as much as a client, so few while few come
    bool armed = false;      // the poller knows it
    bool shut_down = false;  // shut down by another holder, when it was last tried
  };
  struct LastCompletion {
    Fd fd;
    AcceptEvents* events;
    SocketFile file;
  };

  ListenerId add_listener(Fd fd, const SocketFile& file, bool shared);
  Listener* find(ListenerId id);
  Result<void> start_polling(Listener& listener);
  void pause(Listener& listener, TimePoint until);
  void pause_shut_down(Listener& listener);
  void pause_starved(Listener& listener, int error);
  uint64_t shed(int fd);
  void leave_poller(Listener& listener);
  size_t accept_late(int fd, AcceptEvents& events);

  static constexpr int kAcceptsPerTurn = 64;
  static constexpr size_t kMostLate = 4096;
  static constexpr Duration kShutDownPause = std::chrono::seconds(1);
  static constexpr Duration kFirstPause = std::chrono::milliseconds(10);
  static constexpr Duration kLongestPause = std::chrono::seconds(1);
  static constexpr int kShedAtOnce = 16;

  EngineStats& stats_;
  SlotTable<Listener> listeners_;
  Fd spare_;                // from the engine's opening on
  Duration starved_for_{};  // the last pause, with no success since
  LogLimiter limiter_{std::chrono::seconds(1)};
  TimePoint next_resume_ = kNever;
  Poller* poller_ = nullptr;
  MakeKey key_ = nullptr;
  std::vector<LastCompletion> last_completions_;
};

}  // namespace peal::detail
