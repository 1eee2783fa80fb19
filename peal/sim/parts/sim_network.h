// SPDX-License-Identifier: BSD-3-Clause
// SimNetwork: the state that the engines of a SimWorld share: the clock, the queue of timed actions, the random numbers
// and faults, the trace, and the listeners and datagram sockets. It is used on one thread. The world, its engines and
// its loose streams own it together.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/engine/engine.h>
#include <peal/sim/parts/sim_fault_streams.h>
#include <peal/sim/parts/sim_link.h>
#include <peal/sim/sim_world.h>

namespace peal::detail {

// A listening socket, with the connections that have not been accepted yet.
struct SimListener {
  SocketAddress address;
  ListenOptions options;
  std::deque<std::shared_ptr<SimEnd>> waiting;
  std::shared_ptr<const SimHost> host;  // null if it belongs to no machine
  SimOwner* owner = nullptr;            // the engine to notify; null before accept() and after stop()
  uint32_t slot = 0;
};

// A datagram socket, with the datagrams that have arrived and have not been read yet.
struct SimDatagrams {
  SocketAddress address;
  std::deque<std::pair<SocketAddress, std::string>> arrived;
  size_t arrived_bytes = 0;
  DatagramBuffers buffers{.receive_bytes = 212'992, .send_bytes = 212'992};  // net.core.rmem_default, wmem_default
  uint64_t dropped = 0;                 // datagrams that found the receive buffer full and are not reported yet
  std::shared_ptr<const SimHost> host;  // null if it belongs to no machine
  SimOwner* owner = nullptr;
  uint32_t slot = 0;
};

class SimNetwork {
 public:
  // Makes a network whose faults follow `plan`. If `plan` is null, chance decides about every fault. Asserts that
  // options.latency is > 0.
  SimNetwork(uint64_t seed, const SimOptions& options, std::shared_ptr<SimFaultPlan> plan);

  // The members from here to `between_steps` are public because engines, links and the world change them.
  SimOptions options;
  SimStats stats;
  NameTable names;
  SimHosts hosts;
  std::map<uint64_t, SimLink*> links;  // all links that exist, by number
  bool stepping = false;               // true inside a step of a SimWorld: then wait() must not move the clock
  std::deque<std::move_only_function<void()>> between_steps;  // the world calls these after the step

  TimePoint now() const { return now_; }
  uint64_t seed() const { return seed_; }

  // random() returns a random number from 0 to `bound` - 1; `bound` must be > 0. random_up_to() returns a random
  // duration from 0 to `most`.
  uint64_t random(uint64_t bound);
  Duration random_up_to(Duration most);
  // Draws one chance for a fault. If the fault strikes, counts and records the fault and returns true. The fault
  // concerns a packet on its way from `from` to `to`. If `from` is unset, the fault happens at the host `to`.
  bool strikes(SimFaultKind kind, const SocketAddress& from, const SocketAddress& to, std::string_view file = {}) {
    return strikes(draw(kind, from, to, file));
  }
  // draw() and strikes(drawn) do in two steps what strikes(kind, ...) does in one. If one operation is a chance for
  // several kinds, the caller draws for all of them first. The caller then calls strikes(drawn) only for a fault that
  // it would really let happen.
  using Drawn = std::optional<SimFault>;
  Drawn draw(SimFaultKind kind, const SocketAddress& from, const SocketAddress& to, std::string_view file = {});
  bool strikes(const Drawn& drawn) {
    if (drawn) faults_.record(stats, *drawn);
    return drawn.has_value();
  }
  // Returns a random number from 0 to `bound` - 1 for the last chance of this kind, see SimFaultStreams::random_for().
  uint64_t random_for(SimFaultKind kind, uint64_t bound) { return faults_.random_for(kind, bound); }
  // Returns a random delay from 0 to `most` for the last chance of the fault `because`. Callers pass
  // SimOptions::late_by as `most`.
  Duration lateness(SimFaultKind because, Duration most);

  // after() and at() call `action` when the clock reaches that time. Actions of the same time are called in the order
  // in which they were added.
  using Action = Callback<void()>;
  void after(Duration delay, Action action) { at(later(now_, delay), std::move(action)); }
  void at(TimePoint when, Action action) { due_.emplace(when, std::move(action)); }
  // Returns the time of the earliest action, or kNever if there is none.
  TimePoint next_due() const { return due_.empty() ? kNever : due_.begin()->first; }
  // Moves the clock to `when`, unless the clock is already later, and calls the actions that are due.
  void advance_to(TimePoint when);
  // Calls the actions that are due.
  void run_due();
  const SimOptions& options_for(const SocketAddress& from, const SocketAddress& to) const {
    return hosts.options(from, to, options);
  }
  Duration travel_time(const SocketAddress& from, const SocketAddress& to) {
    const SimOptions& way = options_for(from, to);
    return sum_of(way.latency, random_up_to(way.jitter));
  }

  // Starts retransmission at every end that waits for an acknowledgement or for room. Must be called after a path was
  // cut or a machine has lost its power, because the awaited acknowledgement may not arrive any more.
  void recheck_links();

  // Binds a listener. Returns 0 or an errno. If the port of the listener's address is 0, replaces it by a free port.
  int listen(const std::shared_ptr<SimListener>& listener);
  void stop(const std::shared_ptr<SimListener>& listener) { std::erase(listeners_, listener); }
  // Starts a connect and returns the client's end. The owner of this end is notified when SimEnd::connected has the
  // result.
  std::shared_ptr<SimEnd> connect(const SocketAddress& to, const ConnectOptions& how,
                                  std::shared_ptr<const SimHost> host);
  // Binds a datagram socket. Returns 0 or an errno. If the port of the socket's address is 0, replaces it by a free
  // port.
  int bind(const std::shared_ptr<SimDatagrams>& socket);
  void unbind(const std::shared_ptr<SimDatagrams>& socket) { std::erase(datagrams_, socket); }
  // Sends a datagram. Returns 0 or an errno. The datagram may be lost even if 0 is returned.
  int send_datagram(const SimDatagrams& from, const SocketAddress& to, std::string_view bytes);

  // Adds a line to the trace about an end of a connection.
  void trace(const char* what, const SimEnd& end, uint64_t value) { trace({now_, what, {}, end.id(), value, true}); }
  // Adds a line to the trace. `id` is a port or a slot number, depending on `what`.
  void trace(const char* what, uint64_t id, uint64_t value) { trace({now_, what, {}, id, value, false}); }
  // Adds a line to the trace. `where` names a machine or the path between two machines.
  void trace(const char* what, std::string where) { trace({now_, what, std::move(where), 0, 0, false}); }
  uint64_t trace_hash() const { return trace_hash_; }
  std::string trace_tail(size_t lines) const;
  // Removes a link that is being destroyed. Keeps the addresses of its ends for the trace.
  void forget(const SimLink& link);

 private:
  struct Line {
    TimePoint when;
    const char* what;
    std::string where;  // if set, it is printed in place of `value`
    uint64_t id;
    uint64_t value;
    bool is_end;  // true if `id` is the number of an end of a connection
  };
  static constexpr size_t kTraceLines = 4096;
  void trace(Line line);
  // Returns the addresses of an end, or an empty text if the network has forgotten them.
  std::string addresses_of(uint64_t end_id) const;

  uint16_t free_port(const SocketAddress& address);
  std::shared_ptr<SimListener> listener_for(const SocketAddress& to, const SimHost* sender);
  // A client's request to connect on its way to the listener, or the listener's answer on its way back.
  struct ConnectAttempt {
    std::shared_ptr<SimEnd> client;
    TimePoint give_up;
    Duration retry_in;
    int answer = SimEnd::kConnecting;  // kConnecting for a request; for an answer 0 or an errno
    bool is_repeated = false;          // true if the answer "connected" was lost and is sent again
  };
  void send_attempt(ConnectAttempt attempt, Duration in);
  // Sends a lost request or answer again, with a delay that doubles each time. Fails the connect with ETIMEDOUT if its
  // time is over.
  void retry_attempt(ConnectAttempt attempt);
  void deliver_connect_request(ConnectAttempt attempt);
  void deliver_connect_answer(const ConnectAttempt& attempt);
  // Returns the machine that receives packets from the machine `sender` to the address `to`. Null stands for no
  // machine, in the result and as `sender`.
  const SimHost* receiving_host(const SocketAddress& to, const SimHost* sender) const {
    return is_local(to) ? sender : hosts.at(to);
  }
  void deliver(const SimHost* host, const SocketAddress& from, const SocketAddress& to, const std::string& bytes);

  const uint64_t seed_;
  uint64_t random_state_;
  // The time at which the world begins. It is not zero, so that a machine's clock may be behind and programs may
  // subtract from now().
  static constexpr TimePoint kBegin{std::chrono::years(10)};
  TimePoint now_ = kBegin;
  SimFaultStreams faults_;
  // The addresses of the last kTraceLines ends whose link is destroyed. Declared before the members that may own links,
  // because the destructor of a link calls forget().
  std::map<uint64_t, std::string> past_ends_;
  std::multimap<TimePoint, Action> due_;
  std::vector<std::shared_ptr<SimListener>> listeners_;
  std::vector<std::shared_ptr<SimDatagrams>> datagrams_;
  uint16_t next_port_ = 32'768;
  uint64_t last_link_ = 0;
  std::deque<Line> trace_;
  uint64_t trace_hash_ = 14'695'981'039'346'656'037U;  // FNV-1a
};

// A simulated stream that belongs to no engine. The destructor closes its end of the link, unless take_end() has moved
// the end away.
class SimLooseStream final : public LooseStream::Foreign {
 public:
  SimLooseStream(std::shared_ptr<SimNetwork> network, std::shared_ptr<SimEnd> end)
      : network_(std::move(network)), end_(std::move(end)) {}
  ~SimLooseStream() override {
    if (end_) end_->close(false);
  }
  const SimNetwork* network() const { return network_.get(); }
  std::shared_ptr<SimEnd> take_end() { return std::move(end_); }

 private:
  std::shared_ptr<SimNetwork> network_;
  std::shared_ptr<SimEnd> end_;
};

}  // namespace peal::detail
