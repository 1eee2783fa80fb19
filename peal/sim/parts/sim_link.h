// SPDX-License-Identifier: BSD-3-Clause
// SimLink: one connection of a SimNetwork, with its two ends; SimEnd is what an engine holds for a socket.
//
// A direction is a pipe in order: what is written arrives after the network's travel time, never before what was
// written earlier, waits until it is read, and only then makes room again, as TCP's window does. Whatever is on its way
// keeps the link alive; the ends' owners share it. What does not arrive, or is not acknowledged, since the way is cut,
// is sent again, as RFC 6298 has it, until the way is open or the sender gives up.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/callback.h>
#include <peal/engine/engine.h>
#include <peal/sim/parts/sim_hosts.h>
#include <peal/sim/sim_fault.h>

namespace peal::detail {

class SimNetwork;
struct SimLink;

// An engine, told that one of its slots has something to look at.
class SimOwner {
 public:
  enum class Kind : uint8_t { kStream, kListener, kDatagrams };
  virtual void slot_ready(Kind kind, uint32_t slot) = 0;

 protected:
  ~SimOwner() = default;
};

class SimEnd {
 public:
  static constexpr int kConnecting = -1;

  explicit SimEnd(SimLink& link) : link_(link) {}
  SimEnd(const SimEnd&) = delete;
  SimEnd& operator=(const SimEnd&) = delete;

  SocketAddress local;
  SocketAddress peer;
  // Of connecting: kConnecting until it is known, then 0 or an errno.
  int connected = 0;
  std::shared_ptr<const SimHost> host;  // null: no machine's

  SimEnd& other() const;
  std::shared_ptr<SimEnd> self();
  uint64_t id() const;
  void set_owner(SimOwner* owner, uint32_t slot);
  // 0: the network's default.
  void set_send_buffer(uint32_t bytes);
  void set_receive_buffer(uint32_t bytes);
  // Tells the owner, now or, by chance, late.
  void notify_owner();
  // Tells it a little later: what an operation that was cut short waits for.
  void notify_owner_later(SimFaultKind because);

  // How many bytes write() takes now.
  size_t room() const;
  // Written, not yet arrived, or waiting here since the other's buffer is full.
  size_t unacknowledged() const;
  // At most room(); not after a FIN or an error.
  void write(std::string bytes);
  void send_fin();
  // What can be read.
  std::string_view readable() const { return std::string_view(arrived_).substr(taken_); }
  void consume(size_t bytes);
  // Nothing will follow what is readable.
  bool input_ended() const { return fin_arrived_ || error_ != 0; }
  // What the connection was ended by; 0: nothing yet.
  int error() const { return error_; }
  // The owner leaves. RST when asked for, or when something was left unread (RFC 1122 4.2.2.13), else FIN.
  void close(bool reset);
  bool closed() const { return closed_; }
  // False: its machine was switched off, and nothing of it is sent any more.
  bool powered() const { return !host || host->on; }
  // What this end sends now, gets through.
  bool path_is_open() const;
  // The connection ends for this end with an errno.
  void fail(int error);
  // Something may wait for what does not come.
  void retransmit_if_waiting() {
    if (awaits_acknowledgement() && may_retransmit()) start_retransmit();
  }

 private:
  using Act = Callback<void(SimEnd*)>;  // a reference would need the class whole
  struct Packet {
    size_t bytes;
    Act act;  // on the end that it reaches
  };

  void arrive(const std::string& bytes);
  void reset_arrives();
  // Not repeated.
  void send_reset();
  void send_packet(size_t bytes, Act act);
  void deliver(Packet& packet);
  // The other end's acknowledgement, with its window.
  void take_acknowledgement();
  void request_acknowledgement();
  bool may_retransmit() const;
  // The other end has no room, and could not tell when it has: this one asks for it (RFC 9293 3.8.6.1).
  bool must_probe_window() const;
  bool awaits_acknowledgement() const {
    return !held_.empty() || unacked_ || (unacked_window_ > 0 && room() == 0) || must_probe_window();
  }
  void start_retransmit();
  void schedule_retransmit();
  void retransmit();
  // What is left will not be sent again; so nothing arrives that was sent after it.
  void drop_held();

  SimLink& link_;
  SimOwner* owner_ = nullptr;
  uint32_t slot_ = 0;
  std::string arrived_;
  size_t taken_ = 0;         // of those
  size_t in_flight_ = 0;     // written, not yet arrived
  size_t outstanding_ = 0;   // written, not yet read by the other end
  uint32_t send_bytes_ = 0;  // buffers
  uint32_t receive_bytes_ = 0;
  TimePoint last_arrival_{};  // of what this end sent
  int error_ = 0;
  bool fin_sent_ = false;
  bool fin_arrived_ = false;
  bool closed_ = false;
  bool aborted_ = false;      // gone, with nothing more to say
  std::vector<Packet> held_;  // did not get through
  bool lost_ = false;         // something of what this end sent, for good
  bool unacked_ = false;      // something got through, but not its acknowledgement
  size_t unacked_bytes_ = 0;
  size_t unacked_window_ = 0;
  TimePoint give_up_{};
  Duration retransmit_in_{};   // > 0: a timer runs
  uint64_t timer_number_ = 0;  // which; those before it mean nothing any more
};

struct SimLink : std::enable_shared_from_this<SimLink> {
  SimLink(SimNetwork& its_network, uint64_t its_id) : network(its_network), id(its_id) {}
  ~SimLink();

  SimNetwork& network;
  const uint64_t id;
  bool vanished = false;                                     // what is sent gets lost
  bool broken = false;                                       // the same, and both ends will hear of it
  std::array<SimEnd, 2> ends{SimEnd(*this), SimEnd(*this)};  // the one that connected first
};

inline SimEnd& SimEnd::other() const { return link_.ends[this == link_.ends.data() ? 1 : 0]; }
inline std::shared_ptr<SimEnd> SimEnd::self() { return {link_.shared_from_this(), this}; }
inline bool SimEnd::may_retransmit() const { return !link_.broken && error_ == 0 && !aborted_ && powered(); }
inline uint64_t SimEnd::id() const { return link_.id * 2 + (this == link_.ends.data() ? 0 : 1); }

}  // namespace peal::detail
