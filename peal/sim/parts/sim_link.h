// SPDX-License-Identifier: BSD-3-Clause
// SimLink: one connection of a SimNetwork, with its two ends. SimEnd: one end, which an engine holds in place of a
// socket.
//
// Each direction keeps the order of the bytes. Written bytes arrive after the network's travel time, never before
// earlier bytes. They occupy the window until the other end has read them, as in TCP. If the path is cut, packets that
// do not arrive and packets without an acknowledgement are retransmitted with increasing delays (RFC 6298). This ends
// when the path is open again, or when the sender gives up.
//
// The owners of both ends share the link, and every packet on its way holds a reference to it.
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

// The interface of an engine by which the network notifies it of events.
class SimOwner {
 public:
  enum class Kind : uint8_t { kStream, kListener, kDatagrams };
  // Called when the stream, listener or datagram socket in this slot of the engine has an event that the engine has to
  // handle.
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
  // The result of the connect: kConnecting while the result is not known, then 0 or an errno.
  int connected = 0;
  std::shared_ptr<const SimHost> host;  // null if the end belongs to no machine

  SimEnd& other() const;
  // Returns a pointer to this end that shares the ownership of the link.
  std::shared_ptr<SimEnd> self();
  // A number for the trace, unique among all ends of the network.
  uint64_t id() const;
  // Sets the engine, and the slot in the engine, that are notified of events of this end. A null `owner` ends the
  // notifications.
  void set_owner(SimOwner* owner, uint32_t slot);

  // set_send_buffer() and set_receive_buffer() set the size of a buffer; 0 means the default in SimOptions.
  void set_send_buffer(uint32_t bytes);
  void set_receive_buffer(uint32_t bytes);

  // Notifies the owner at once, or later if the fault kLate strikes.
  void notify_owner();
  // Notifies the owner after a random delay of at most SimOptions::late_by. `because` is the fault that delayed or
  // shortened an operation.
  void notify_owner_later(SimFaultKind because);

  // Returns how many bytes write() accepts now.
  size_t room() const;
  // Returns how many written bytes have not arrived or do not fit into the other end's receive buffer.
  size_t unacknowledged() const;
  // Sends `bytes`. Asserts that there are 1 to room() bytes, that send_fin() has not been called, and that the
  // connection has no error.
  void write(std::string bytes);
  void send_fin();
  // Returns the bytes that have arrived and are not consumed.
  std::string_view readable() const { return std::string_view(arrived_).substr(taken_); }
  // Removes bytes from the front of readable(). After the travel time, the other end learns that it may send as many
  // bytes more.
  void consume(size_t bytes);
  // True if no bytes will arrive after those that are readable now.
  bool input_ended() const { return fin_arrived_ || error_ != 0; }
  // Returns the errno that has ended the connection, or 0 if the connection has not failed.
  int error() const { return error_; }
  // Closes this end when its owner closes the stream. Sends an RST if `reset` is true or if bytes were left unread (RFC
  // 1122 4.2.2.13), otherwise a FIN.
  void close(bool reset);
  bool closed() const { return closed_; }
  // True unless the end's machine has lost its power. After a loss of power, this end never sends anything again.
  bool powered() const { return !host || host->on; }
  // True if packets that this end sends now will arrive at the other end.
  bool path_is_open() const;
  // Ends the connection for this end with the given errno, and notifies the owner. Does nothing if the end is closed or
  // has already failed.
  void fail(int error);
  // Starts the retransmission timer if this end waits for an acknowledgement. The network calls this function after a
  // path was cut or a machine has lost its power.
  void retransmit_if_waiting() {
    if (awaits_acknowledgement() && may_retransmit()) start_retransmit();
  }

 private:
  // The effect of a packet on the end that it reaches. The parameter is a pointer, because a reference would need the
  // complete class here.
  using Act = Callback<void(SimEnd*)>;
  struct Packet {
    size_t bytes;
    Act act;
  };

  // Called when `bytes` arrive at this end. Stores them, or answers with an RST if this end is closed or has failed.
  void arrive(const std::string& bytes);
  // Called when an RST arrives at this end. Ends the connection with ECONNRESET.
  void reset_arrives();
  // Sends an RST. An RST that is lost is never retransmitted.
  void send_reset();
  // Sends a packet: calls `act` for the other end after the travel time. If the path is cut at that time, the packet is
  // kept for retransmission.
  void send_packet(size_t bytes, Act act);
  void deliver(Packet& packet);
  // Handles an acknowledgement from the other end: it covers all delivered packets and contains the window update.
  void take_acknowledgement();
  // Handles the other end's acknowledgement at once if the path from there is open. Otherwise starts retransmission.
  void request_acknowledgement();
  bool may_retransmit() const;
  // True if the other end's receive buffer is full and a window update could not arrive now. This end then has to probe
  // the window (RFC 9293 3.8.6.1).
  bool must_probe_window() const;
  bool awaits_acknowledgement() const {
    return !held_.empty() || unacked_ || (unacked_window_ > 0 && room() == 0) || must_probe_window();
  }
  void start_retransmit();
  void schedule_retransmit();
  void retransmit();
  // Drops the packets that wait for retransmission. If there were any, no later packet of this end arrives either.
  void drop_held();

  SimLink& link_;
  SimOwner* owner_ = nullptr;
  uint32_t slot_ = 0;
  std::string arrived_;
  size_t taken_ = 0;            // how many bytes at the front of arrived_ are consumed
  size_t in_flight_ = 0;        // written bytes whose arrival is not acknowledged
  size_t outstanding_ = 0;      // written bytes that the other end has not read, as far as this end knows
  uint32_t send_bytes_ = 0;     // the size of the send buffer
  uint32_t receive_bytes_ = 0;  // the size of the receive buffer
  TimePoint last_arrival_{};    // when the last packet that this end sent arrives
  int error_ = 0;
  bool fin_sent_ = false;
  bool fin_arrived_ = false;
  bool closed_ = false;
  bool aborted_ = false;       // true after an RST was sent by close(), or arrived after it
  std::vector<Packet> held_;   // packets that met a cut path and wait for retransmission
  bool lost_ = false;          // true if a packet of this end was lost for good
  bool unacked_ = false;       // true if a delivered packet is not acknowledged yet
  size_t unacked_bytes_ = 0;   // bytes in delivered packets that are not acknowledged yet
  size_t unacked_window_ = 0;  // bytes that the other end has read, but whose window update has not arrived
  TimePoint give_up_{};        // when the connection fails with ETIMEDOUT
  Duration retransmit_in_{};   // the current delay of the retransmission timer; 0 if no timer runs
  uint64_t timer_number_ = 0;  // the number of the current timer; older timers do nothing when they fire
};

struct SimLink : std::enable_shared_from_this<SimLink> {
  SimLink(SimNetwork& its_network, uint64_t its_id) : network(its_network), id(its_id) {}
  ~SimLink();

  SimNetwork& network;
  const uint64_t id;
  bool vanished = false;  // true if everything that either end sends is lost
  bool broken = false;    // true after the fault kReset: everything is lost, and both ends will fail with ECONNRESET

  // The two ends of the connection. The end that has connected is first.
  std::array<SimEnd, 2> ends{SimEnd(*this), SimEnd(*this)};
};

inline SimEnd& SimEnd::other() const { return link_.ends[this == link_.ends.data() ? 1 : 0]; }
inline std::shared_ptr<SimEnd> SimEnd::self() { return {link_.shared_from_this(), this}; }
inline bool SimEnd::may_retransmit() const { return !link_.broken && error_ == 0 && !aborted_ && powered(); }
inline uint64_t SimEnd::id() const { return link_.id * 2 + (this == link_.ends.data() ? 0 : 1); }

}  // namespace peal::detail
