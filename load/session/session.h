// SPDX-License-Identifier: BSD-3-Clause
// Session: a connection on which messages are sent and answered, and the connections that replace it when it has ended.
// Each Protocol has its own derived class and creates its objects. This class has the common parts: opening, timing the
// messages in flight, failing and closing. A session belongs to a Lane, which is one thread's share of the run. It is
// used only on that thread.
//
// The lane decides when to send. The derived class sends the messages and checks the answers. It reports the result of
// each answer, in the order of the messages.
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

// The times of a message in flight. A message is in flight if it was sent, but not answered yet.
struct Stamp {
  // The time from which the latency of the message is measured. In an open loop, `due` is the time for which the
  // schedule planned the message. In a closed loop, `due` is the time at which the message was sent first.
  TimePoint due;
  TimePoint sent;  // when the message was sent; if it was sent again on a new connection, the time of that sending
};

// How long it took to open a connection. `connect` is the time of the TCP connect. `handshake` is the time of the TLS
// handshake that follows. Without TLS, `handshake` is 0.
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

  // Begins to open a connection to `target`. Messages that were sent on the session's previous connection and were not
  // answered are sent again on the new connection. At most `messages` messages are sent on the new connection, and the
  // messages that are sent again count, too. Exception: if more than `messages` messages must be sent again, all of
  // them are sent, so that no message in flight is lost.
  void connect(const SocketAddress& target, const ConnectOptions& options, uint64_t messages);
  // Closes the connection, even in the middle of its opening. Also forgets the messages in flight (sent, but not
  // answered), and returns their number. Does not tell the Lane about the close, because the Lane itself calls
  // abandon(), or the caller tells the Lane.
  size_t abandon(CloseHow how = CloseHow::kNormal);
  // Stops receiving, but leaves the connection open. The Lane calls this function at the end of the run, so that
  // answers that come too late are not counted. The connection stays open until all threads have stopped receiving. The
  // reason: a server that serves one connection at a time answers on the next connection as soon as a connection is
  // closed. Does nothing if the connection is not open.
  void stop_listening();
  // Sends `count` messages. Their latency is measured from the time `due`. In an open loop, `due` is the time for which
  // the schedule wanted the messages sent. In a closed loop, `due` is equal to `now`. Asserts that `count` > 0 and that
  // `count` <= room().
  void send(size_t count, TimePoint due, TimePoint now);

  // Finds out whether the server serves this connection, or whether the connection still waits in a queue of the
  // server. Adds the connection to the counts in `queued`:
  // - The server serves the connection if the connection is open and has got an answer. Adds 1 to Queued::being_served
  //   and returns 0.
  // - The connection waits if it is open and messages were sent on it, but no byte has come back. Adds the connection,
  //   its messages in flight and the bytes that the server still owes to the counts `connections`, `messages` and
  //   `bytes_owed`. Returns the number of these messages.
  // - In all other cases, adds nothing and returns 0.
  size_t count_if_queued(Queued& queued) const;

  State state() const { return state_; }
  bool open() const { return state_ == State::kOpen; }
  // Returns true while the connection is being opened.
  bool opening() const { return state_ == State::kConnecting || state_ == State::kShaking; }
  size_t in_flight() const { return in_flight_; }
  // Returns how many messages may be sent on this connection now.
  size_t room() const;
  // Returns the scheduled time and the send time of the oldest message in flight. At least one message must be in
  // flight.
  const Stamp& oldest() const { return stamps_[first_]; }
  // Returns the time at which the connection was opened. If the connection is still being opened, returns the time at
  // which its opening began. The result has no use while the session has no connection.
  TimePoint since() const { return since_; }
  // Returns the time at which the last answer on this session arrived. Call this function in an open loop only. In a
  // closed loop, the time may be too early, because answered_and_sent() does not store the time of its answer.
  TimePoint answered_at() const { return answered_at_; }

  // Returns what the client and the server have agreed on in the TLS handshake, for example the version of TLS. The
  // connection must be open. Fails with ENOTSUP without TLS.
  Result<LayerFacts> layer_facts() const;

  // Data that the Lane stores about this session. A Lane owns all sessions of one thread. Each session has at most one
  // connection at a time.
  struct Notes {
    bool silent = false;      // this is an idle connection: nothing is ever sent on it
    bool tried = false;       // the first attempt to open has succeeded or failed
    bool opened = false;      // a connection was open at least once
    bool served = false;      // a message was answered on one of its connections
    bool queued = false;      // the session is in the Pacer's list of free sessions
    bool got_answer = false;  // an answer came on the current connection
    // How many connections of this session have failed in succession since the session got its last answer. If the
    // server closes a connection before any message was sent on it, the connection counts as failed, too. After each
    // failure, the session waits before it connects again. The wait is 20 ms after the first failure and doubles with
    // each further failure, up to 320 ms. kMostUnansweredInARow says when the session is given up.
    unsigned unanswered_row = 0;
    size_t number = 0;  // number of the session in the whole run
  } notes;

 protected:
  Lane& lane() { return lane_; }
  const Lane& lane() const { return lane_; }
  StreamId stream() const { return stream_; }
  // Returns how many more messages may be sent on this connection. If there is no limit, the number is UINT64_MAX minus
  // the number of messages already sent, because each message subtracts 1.
  uint64_t left() const { return left_; }

  // Sends `count` messages and adds their size to Counts::bytes_sent.
  virtual void send_messages(size_t count) = 0;
  // Called when a new connection has opened. Must reset all data that belongs to the previous connection.
  virtual void begin_connection() = 0;
  // Decides whether a close by the server is a failure. Called when the server has closed its side of the connection.
  // If the connection broke, for example by a reset, the function is not called, because a break is always a failure.
  // - Returns true if the close is no failure. The caller then closes the connection.
  // - Returns false if the close is a failure. The caller then counts the failure and closes the connection.
  // - Also returns false if an override has closed the connection itself. The caller then does nothing more.
  // This base class returns true if no message is in flight, because a server may close an idle connection (RFC 9112
  // 9.5). Exception: it returns false if the run keeps the connection idle on purpose (Notes::silent), because the
  // server must keep such connections open.
  virtual bool accept_end(TimePoint now);
  // Returns true if the beginning of an answer has arrived, but not its end.
  virtual bool in_an_answer() const = 0;
  // In an echo protocol, returns how many bytes were sent but have not come back yet. In other protocols, returns 0.
  virtual uint64_t bytes_owed() const { return 0; }

  // Stores the time at which the first bytes of an answer have arrived. Must be called at that time if
  // Protocol::has_first_byte() returns true. The answer belongs to the oldest message in flight.
  void first_byte(TimePoint now) { first_byte_at_ = now; }
  // Tells the Lane that the oldest message in flight was answered correctly.
  void answered(TimePoint now);
  // Tells the Lane that the oldest message in flight got a wrong answer. `kind` is a short name of the error, and
  // `sentence` describes it. The connection stays open, because the wrong answer was received completely.
  void answered_wrongly(TimePoint now, const std::string& kind, const std::string& sentence);
  // Tells the Lane that the oldest message in flight was answered correctly, and that a new message was sent in its
  // place. So the number of messages in flight stays the same.
  void answered_and_sent(TimePoint now);
  // Removes the oldest message from the messages in flight. Call this function if the run has stopped sending in the
  // middle of the message. The server never gets the whole message, so the message counts neither as answered nor as
  // failed.
  void withdraw();
  // Lets the Lane continue after answers. A derived class must call this function when it has handled all answers in
  // the received bytes. If the connection has sent all messages that it may carry, and all of them were answered, the
  // Lane closes the connection. So the connection may be closed when go_on() returns. Otherwise, the Lane may send more
  // messages on the connection.
  void go_on(TimePoint now);
  // Closes the connection because the server has closed it, or has announced that it will close it. The close does not
  // count as a failure. Messages in flight are sent again on the session's next connection. The caller must set
  // `was_idle` to true if the server has closed the connection without an announcement and no message was in flight.
  // The Lane counts these closes separately (Counts::idle_closes). If no answer came on such a connection, the Lane
  // waits before it opens the next one.
  void leave(bool was_idle = false);
  // Counts a failure and closes the connection. `kind` is a short name of the failure, and `sentence` describes it.
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
  TcpOpening* opening_ = nullptr;  // set only while TCP is being opened for a layer such as TLS
  StreamId stream_;
  State state_ = State::kClosed;
  uint64_t left_ = 0;
  std::vector<Stamp> stamps_;  // ring buffer; its size is how many messages may be in flight
  size_t first_ = 0;
  size_t in_flight_ = 0;
  TimePoint since_;
  TimePoint tcp_open_at_;
  TimePoint answered_at_;
  TimePoint first_byte_at_;
};

// The protocol of a run, for example HTTP. It creates the sessions of the run. All threads share one Protocol object
// without a lock, so the object never changes.
class Protocol {
 public:
  virtual ~Protocol() = default;
  // Returns the name of the protocol, as it is written on the command line.
  virtual std::string_view name() const = 0;
  // Returns true if the server must send back as many bytes as it receives.
  virtual bool echoes() const { return true; }
  // Returns true if the run measures the time from sending a message to the first byte of its answer. The sessions must
  // then call Session::first_byte() when this byte arrives.
  virtual bool has_first_byte() const { return false; }
  virtual std::unique_ptr<Session> make_session(Lane& lane) const = 0;
};

}  // namespace peal::load
