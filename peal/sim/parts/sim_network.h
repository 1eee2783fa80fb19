// SPDX-License-Identifier: BSD-3-Clause
// SimNetwork: what the engines of a SimWorld share: the clock, what is due when, the chances, the trace, and who
// listens where. One thread. Its engines and loose streams own it together.
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

// Where connections wait to be accepted.
struct SimListener {
  SocketAddress address;
  ListenOptions options;
  std::deque<std::shared_ptr<SimEnd>> waiting;
  std::shared_ptr<const SimHost> host;  // null: no machine's
  SimOwner* owner = nullptr;
  uint32_t slot = 0;
};

struct SimDatagrams {
  SocketAddress address;
  std::deque<std::pair<SocketAddress, std::string>> arrived;
  size_t arrived_bytes = 0;
  DatagramBuffers buffers{.receive_bytes = 212'992, .send_bytes = 212'992};  // net.core.rmem_default, wmem_default
  uint64_t dropped = 0;  // for want of room in the first, and not told yet
  std::shared_ptr<const SimHost> host;
  SimOwner* owner = nullptr;
  uint32_t slot = 0;
};

class SimNetwork {
 public:
  // `plan` as SimFaultStreams takes it.
  SimNetwork(uint64_t seed, const SimOptions& options, std::shared_ptr<SimFaultPlan> plan);

  // Public state of a part that engines and links work on.
  SimOptions options;
  SimStats stats;
  NameTable names;
  SimHosts hosts;
  std::map<uint64_t, SimLink*> links;  // that live, by number
  bool stepping = false;               // a SimWorld moves the clock; otherwise whoever waits does
  std::deque<std::move_only_function<void()>> between_steps;  // to be called by the world

  TimePoint now() const { return now_; }
  uint64_t seed() const { return seed_; }

  // From 0 to `bound` - 1; `bound` > 0.
  uint64_t random(uint64_t bound);
  Duration random_up_to(Duration most);
  // By chance. What goes wrong is on its way `from`, `to`; or, `from` being unset, happens at `to`.
  bool strikes(SimFaultKind kind, const SocketAddress& from, const SocketAddress& to, std::string_view file = {}) {
    return strikes(draw(kind, from, to, file));
  }
  // The same in two steps, where several kinds ask of one occasion: all draw first, and whose answer is used, takes.
  using Drawn = std::optional<SimFault>;
  Drawn draw(SimFaultKind kind, const SocketAddress& from, const SocketAddress& to, std::string_view file = {});
  bool strikes(const Drawn& drawn) {
    if (drawn) faults_.record(stats, *drawn);
    return drawn.has_value();
  }
  // As SimFaultStreams::random_for().
  uint64_t random_for(SimFaultKind kind, uint64_t bound) { return faults_.random_for(kind, bound); }
  // At most `most`, SimOptions::late_by, as the last chance of this kind has it.
  Duration lateness(SimFaultKind because, Duration most);

  using Action = Callback<void()>;
  void after(Duration delay, Action action) { at(later(now_, delay), std::move(action)); }
  void at(TimePoint when, Action action) { due_.emplace(when, std::move(action)); }
  // kNever: nothing.
  TimePoint next_due() const { return due_.empty() ? kNever : due_.begin()->first; }
  void advance_to(TimePoint when);
  void run_due();
  const SimOptions& options_for(const SocketAddress& from, const SocketAddress& to) const {
    return hosts.options(from, to, options);
  }
  Duration travel_time(const SocketAddress& from, const SocketAddress& to) {
    const SimOptions& way = options_for(from, to);
    return sum_of(way.latency, random_up_to(way.jitter));
  }

  // A way was cut, or a machine is off: who waits for room learns it by asking for it.
  void recheck_links();

  // An errno, or 0. The address gets its port.
  int listen(const std::shared_ptr<SimListener>& listener);
  void stop(const std::shared_ptr<SimListener>& listener) { std::erase(listeners_, listener); }
  // An end of a new connection, whose result its owner will be told.
  std::shared_ptr<SimEnd> connect(const SocketAddress& to, const ConnectOptions& how,
                                  std::shared_ptr<const SimHost> host);
  int bind(const std::shared_ptr<SimDatagrams>& socket);
  void unbind(const std::shared_ptr<SimDatagrams>& socket) { std::erase(datagrams_, socket); }
  int send_datagram(const SimDatagrams& from, const SocketAddress& to, std::string_view bytes);

  void trace(const char* what, uint64_t id, uint64_t value) { trace({now_, what, {}, id, value}); }
  // Of a machine, or of what lies between two.
  void trace(const char* what, std::string where) { trace({now_, what, std::move(where), 0, 0}); }
  uint64_t trace_hash() const { return trace_hash_; }
  std::string trace_tail(size_t lines) const;

 private:
  struct Line {
    TimePoint when;
    const char* what;
    std::string where;  // instead of the numbers
    uint64_t id;
    uint64_t value;
  };
  static constexpr size_t kTraceLines = 4096;
  void trace(Line line);

  uint16_t free_port(const SocketAddress& address);
  std::shared_ptr<SimListener> listener_for(const SocketAddress& to, const SimHost* sender);
  // A client's request to connect, on its way; or back, answered with an errno or 0.
  struct ConnectAttempt {
    std::shared_ptr<SimEnd> client;
    TimePoint give_up;
    Duration retry_in;
    int answer = SimEnd::kConnecting;
    bool is_repeated = false;  // the answer is sent again
  };
  void send_attempt(ConnectAttempt attempt, Duration in);
  // It got lost, and is repeated.
  void retry_attempt(ConnectAttempt attempt);
  void deliver_connect_request(ConnectAttempt attempt);
  void deliver_connect_answer(const ConnectAttempt& attempt);
  // Whose machine takes what `sender` sends `to`.
  const SimHost* receiving_host(const SocketAddress& to, const SimHost* sender) const {
    return is_local(to) ? sender : hosts.at(to);
  }
  void deliver(const SimHost* host, const SocketAddress& from, const SocketAddress& to, const std::string& bytes);

  const uint64_t seed_;
  uint64_t random_state_;
  static constexpr TimePoint kBegin{std::chrono::years(10)};  // a clock may look back, or be behind
  TimePoint now_ = kBegin;
  SimFaultStreams faults_;
  std::multimap<TimePoint, Action> due_;
  std::vector<std::shared_ptr<SimListener>> listeners_;
  std::vector<std::shared_ptr<SimDatagrams>> datagrams_;
  uint16_t next_port_ = 32'768;
  uint64_t last_link_ = 0;
  std::deque<Line> trace_;
  uint64_t trace_hash_ = 14'695'981'039'346'656'037U;  // FNV-1a
};

// A stream that no engine has: an end of a link that closes with it.
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
