// SPDX-License-Identifier: BSD-3-Clause
// ListenerSet: the listening sockets of a ReadinessEngine. It decides how many connections are accepted in a turn, and
// what happens when accept(2) fails. Used on the engine's thread; bind(), adopt() and local_address() may be called
// before the engine opens.
//
// Accepting never spins and never ends by an error. If fds or memory run out (EMFILE, ENFILE, ENOBUFS, ENOMEM), a
// listener does two things:
//   - It sheds a few waiting clients with a spare fd: it closes the spare fd, accepts a client, closes the connection,
//     and opens the spare fd again. The client sees its connection end instead of waiting for an answer.
//   - It pauses for 10 ms, and twice as long each time in a row, up to 1 s.
// At most one log line a second reports this.
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

  // bind(), adopt() and local_address() implement Engine::bind(), Engine::adopt_listener() and Engine::local_address().
  // If bind() or adopt() fails, nothing has changed.
  Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options);
  Result<ListenerId> adopt(Fd listening, const AdoptOptions& options);
  Result<SocketAddress> local_address(ListenerId id) const;

  // Function that makes the key with which the poller reports events of a listener.
  using MakeKey = uint64_t (*)(uint32_t slot, uint32_t generation);

  // open() sets the poller and must be called before accept(). accept() and stop() implement the functions of Engine
  // with these names. stop_all() stops every listener.
  void open(Poller& poller, MakeKey key);
  void accept(ListenerId id, AcceptEvents& events);
  void stop(ListenerId id);
  void stop_all();

  // Accepts a limited number of connections of the listener in `slot`. Called when the poller reports that connections
  // wait there. `generation` is the low half of the generation in the listener's id.
  void accept_ready(uint32_t slot, uint16_t generation);

  // Resumes every listener whose pause is over at the time `now`.
  void resume(TimePoint now);

  // Returns the earliest time at which a paused listener resumes; kNever if no listener is paused.
  TimePoint next_resume() const { return next_resume_; }

  // Calls on_accept_stopped() for the listeners that were stopped. If `deliver_late` is true, first accepts and
  // delivers the connections whose handshake the kernel had finished before stop(). Returns the number of callbacks.
  size_t deliver_last_completions(bool deliver_late);
  bool has_last_completions() const { return !last_completions_.empty(); }

 private:
  struct Listener : SlotLinks {
    Fd fd;
    SocketFile file;                 // Removed when the listener ends; stands for no file if the socket was adopted.
    bool shared = false;             // Copied from AdoptOptions.
    AcceptEvents* events = nullptr;  // Null before accept().
    TimePoint resume_at = kNever;    // End of the pause; kNever if the listener is not paused.
    // How many times the next event of this listener calls accept(2). A call that finds no client costs as much as one
    // that does, so the number is small while few clients come.
    int accepts = 1;
    bool armed = false;      // True if the poller watches the fd.
    bool shut_down = false;  // True if the last try found that another holder has shut the socket down.
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
  Fd spare_;                // Reserved for shedding clients; open from the engine's opening on.
  Duration starved_for_{};  // Length of the last pause for lack of fds or memory; 0 after a successful accept.
  LogLimiter limiter_{std::chrono::seconds(1)};
  TimePoint next_resume_ = kNever;
  Poller* poller_ = nullptr;
  MakeKey key_ = nullptr;
  std::vector<LastCompletion> last_completions_;
};

}  // namespace peal::detail
