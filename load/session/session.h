// SPDX-License-Identifier: BSD-3-Clause
// Session: a connection that messages go round on, and the one that follows when it has ended. One implementation a
// protocol, made by its Protocol; what all of them share (opening, stamping what is in flight, failing, closing) is
// here. It belongs to a Lane and its thread.
//
// The lane says when to send; the implementation sends, checks what comes back, and says of each answer, in the order
// of the requests, what became of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <load/record/recording.h>
#include <load/session/tcp_opening.h>
#include <peal/base/clock.h>
#include <peal/engine/engine.h>

namespace peal::load {

class Lane;

// A message in flight.
struct Stamp {
  TimePoint due;  // when the schedule wanted it sent; closed loop: when it was
  TimePoint sent;
};

// How long the halves of opening a connection took; without a layer there is no second.
struct OpeningTimes {
  Duration connect{};
  Duration handshake{};
};

class Session : public StreamEvents, private TcpOpening::Owner {
 public:
  enum class State : uint8_t { kClosed, kConnecting, kShaking, kOpen };

  explicit Session(Lane& lane);
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Opens the next connection, which carries `messages`. What the last one left unanswered is sent again on it.
  void connect(const SocketAddress& target, const ConnectOptions& options, uint64_t messages);
  // Closes without a word. What is in flight is forgotten; returns how much that was.
  size_t abandon(CloseHow how = CloseHow::kNormal);
  // Whatever comes is not heard any more; the connection stays open.
  void stop_listening();
  // Sends `count` messages that were due then; count <= room().
  void send(size_t count, TimePoint due, TimePoint now);

  // Where something was asked and not a byte has come back since the connection opened: adds it to `queued`, and says
  // how many messages that is. Where something has come back it is one that the others wait for.
  size_t count_if_queued(Queued& queued) const;

  State state() const { return state_; }
  bool open() const { return state_ == State::kOpen; }
  // Neither closed nor open.
  bool opening() const { return state_ == State::kConnecting || state_ == State::kShaking; }
  size_t in_flight() const { return in_flight_; }
  // How many messages may be sent now.
  size_t room() const;
  // The oldest in flight.
  const Stamp& oldest() const { return stamps_[first_]; }
  // Since when it connects, or is open.
  TimePoint since() const { return since_; }
  // When the last answer came.
  TimePoint answered_at() const { return answered_at_; }

  // Of an open one's layer.
  Result<LayerFacts> layer_facts() const;

  // The lane's notes about it.
  struct Notes {
    bool silent = false;          // an idle connection: nothing is ever sent
    bool tried = false;           // its first attempt is over
    bool opened = false;          // it was open at least once
    bool served = false;          // a message came back on it
    bool queued = false;          // it waits in the pacer's ring
    bool got_answer = false;      // a message came back on this connection
    unsigned unanswered_row = 0;  // connections in a row on which none did
    size_t number = 0;            // of the whole run
  } notes;

 protected:
  Lane& lane() { return lane_; }
  const Lane& lane() const { return lane_; }
  StreamId stream() const { return stream_; }
  // Messages this connection may still be given; UINT64_MAX: no end.
  uint64_t left() const { return left_; }

  // Sends `count` messages in order, and counts their bytes.
  virtual void send_messages(size_t count) = 0;
  // A new connection begins: nothing of the last one counts.
  virtual void begin_connection() = 0;
  // The server sends no more. False: that cuts an answer short, or comes where one is owed. A connection on which
  // nothing is asked it may close at any time (RFC 9112 9.5), but not a silent one: that is there to stay.
  virtual bool accept_end(TimePoint now);
  // A part of the oldest's answer has come.
  virtual bool in_an_answer() const = 0;
  // Bytes sent that have not come back, where they do.
  virtual uint64_t bytes_owed() const { return 0; }

  // The first bytes of the oldest's answer are here.
  void first_byte(TimePoint now) { first_byte_at_ = now; }
  // The oldest is answered as it should be.
  void answered(TimePoint now);
  // It is answered, but not as asked. The connection goes on.
  void answered_wrongly(TimePoint now, const std::string& kind, const std::string& sentence);
  // The oldest is answered, and the next one is on its way already.
  void answered_and_sent(TimePoint now);
  // The oldest will not be answered, and nobody is to blame.
  void withdraw();
  // After the answers that came together: the lane may send what there is room for, or close. May close the session.
  void go_on(TimePoint now);
  // The server has said that it closes, or has. What is in flight goes out again on the next connection. `was_idle`: it
  // closed without a word a connection on which nothing was asked.
  void leave(bool was_idle = false);
  // Counts a failure of this kind and closes. Nothing more happens on this connection.
  void fail(const std::string& kind, const std::string& sentence);

 private:
  void push(const Stamp& stamp);
  Stamp pop();

  void tcp_open() final;
  void tcp_failed(std::error_code error) final;
  void shake_hands(LooseStream stream) final;
  void tcp_closed() final { opening_ = nullptr; }
  void fail_opening(std::error_code error);
  void on_connected(std::error_code error) final;
  void on_receive_end(std::error_code error) final;
  void on_send_failed(std::error_code error) final;
  void on_sent(size_t) final {}
  void on_closed() final {}
  void on_detached(LooseStream) final {}

  Lane& lane_;
  TcpOpening* opening_ = nullptr;  // where there is a layer, until that adopts the stream
  StreamId stream_;
  State state_ = State::kClosed;
  uint64_t left_ = 0;
  std::vector<Stamp> stamps_;  // a ring of as many as may be in flight
  size_t first_ = 0;
  size_t in_flight_ = 0;
  TimePoint since_;
  TimePoint tcp_open_at_;
  TimePoint answered_at_;
  TimePoint first_byte_at_;
};

// What goes round, as a factory of sessions. Immutable; shared by all threads.
class Protocol {
 public:
  virtual ~Protocol() = default;
  // As the command line calls it.
  virtual std::string_view name() const = 0;
  // As many bytes come back as are sent.
  virtual bool echoes() const { return true; }
  // Answers begin before they end: first_byte() is told.
  virtual bool has_first_byte() const { return false; }
  virtual std::unique_ptr<Session> make_session(Lane& lane) const = 0;
};

}  // namespace peal::load
