// SPDX-License-Identifier: BSD-3-Clause
// Lane: one thread's share of a run. It has the thread's sessions (connections), the Recording into which they write,
// and in an open loop the Pacer, which sends at scheduled times. At a "cut", the lane hands over its Recording and
// continues with a new one.
//
// The thread that leads the run creates and destroys the lane. At that time the lane's own thread must not be using it.
// All other functions are called on the lane's own thread, which runs its loop. The lane reports to the leading thread
// by posting to its mailbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <load/plan/load_options.h>
#include <load/plan/pacer.h>
#include <load/record/recording.h>
#include <load/server_probe.h>
#include <load/session/session.h>
#include <peal/loop/loop.h>

namespace peal::load {

// The end of a part of the run is called a cut. At a cut, each thread hands over the results that it has recorded since
// the last cut, or since the start of the run. CutKind says which part of the run ends.
enum class CutKind : uint8_t {
  kWarmUp,    // ends the warm-up, which does not count
  kInterval,  // ends an interval inside the measurement
  kSlice,     // ends a slice, which is the time from play() to pause()
  kLast,      // ends the measurement and the sending
};

// The results of one thread for one part of the run, for example the warm-up. The end of such a part is called a cut.
// At a cut, the thread hands its results over and begins a new Recording.
struct Cut {
  CutKind kind;
  std::unique_ptr<Recording> recording;
  std::optional<ServerLook> server;  // what the server has used until now
  size_t in_flight = 0;              // messages that were sent and not answered yet
  size_t open = 0;                   // connections that are open
  uint64_t failures = 0;             // failures since the cut before this one
  uint64_t due = 0;                  // open loop: messages that the schedule wanted sent until now
  // These two counts are set only if `kind` is kLast:
  // - `unsent` counts the messages that were not sent, although their scheduled time had come. In a closed loop,
  //   `unsent` is 0, because there is no schedule. A message that was dropped because it had waited too long is not
  //   included.
  // - `unanswered` counts the messages that were sent, but not answered.
  uint64_t unsent = 0;
  uint64_t unanswered = 0;
};

// Receives the reports of all lanes. A lane is one thread's share of a run. The class that controls the run implements
// this interface, and its functions are called on the controlling thread. `lane` is the number of the reporting lane.
class LaneReports {
 public:
  // Called once for each lane, which is one thread's share of the run. By then, each connection of the lane has been
  // opened, or the first attempt to open it has failed.
  virtual void on_settled(size_t lane) = 0;
  virtual void on_cut(size_t lane, Cut cut) = 0;
  // Called once for each lane, when the measurement has ended and no message of the lane is in flight any more.
  virtual void on_quiet(size_t lane) = 0;
  // Called once for a lane when all its sessions have been given up: they have no connection and will not open a new
  // one. on_settled() is always called for the lane before. Connections that the run keeps idle on purpose may still be
  // open. After the end of the measurement, this call may be missing. The reason: at the end, the lane abandons
  // connections that are not open yet, without giving their sessions up.
  virtual void on_out_of_connections(size_t lane) = 0;

 protected:
  ~LaneReports() = default;
};

// Divides `all` connections as evenly as possible among `lanes` threads. Returns how many connections the thread number
// `lane` gets.
size_t share_of(size_t all, size_t lane, size_t lanes);

// Returns which of the optional histograms are recorded in a run with these options and this protocol.
RecordingParts recording_parts(const LoadOptions& options, const Protocol& protocol);

class Lane {
 public:
  struct Setup {
    size_t number;
    size_t first_connection;  // number of the lane's first connection in the whole run
    size_t connections;
    size_t idle_connections;
    ServerProbe* server;  // measures the server; null in all lanes except one
    // Says when the lane sends messages:
    // - true: only in slices. A slice is the time from play() to pause().
    // - false: from begin() to the end of the measurement. Exception: in a closed loop without LoadOptions::start_at,
    //   the lane sends on each connection as soon as the connection is open. The lane does not need to wait for
    //   begin(), because the measurement begins later and does not count these messages.
    bool in_slices = false;
  };

  // `options`, `protocol`, `loop` and `reports` must outlive the lane.
  Lane(const Setup& setup, const LoadOptions& options, const Protocol& protocol, Loop& loop, LaneReports& reports,
       std::shared_ptr<Mailbox> run);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // The next five functions run on the lane's thread. The thread that controls the run posts the calls, in the order of
  // these declarations. A run may leave out calls that it does not need. Only cut() may be called several times.
  void connect_all();
  void give_up_connecting();
  void begin(TimePoint start);
  void cut(CutKind kind, std::unique_ptr<Recording> fresh);
  // Stops waiting for answers, because the run ends. Stops receiving on all connections and counts each unanswered
  // message as a failure. Exception: with --expect-queueing, messages count as queued and not as failures if their
  // connection is open and no byte of an answer has come back on it. The server then keeps this connection in a queue
  // and has not begun to serve it.
  void give_up_waiting();

  // If the lane sends in slices, the controlling thread posts calls of play() and pause() instead of begin() and cut().
  // Both may be called repeatedly.
  // - play() begins a slice: the lane begins to send. In an open loop, `start` is the time at which the send schedule
  //   begins. In a closed loop, `start` is ignored.
  // - pause() ends a slice. In a closed loop, the lane stops sending. In an open loop, the lane still sends the
  //   messages whose scheduled time came before pause(). The lane waits until no message is in flight and each session
  //   has an open connection. Sessions that were given up are left out. After the wait, the lane reports a cut of the
  //   kind kSlice, and continues with the Recording `fresh`.
  // In a closed loop, a slice may also be ended by cut() with the kind kSlice. The lane then keeps sending after the
  // slice. So the next call of play() has no effect, because the lane sends already.
  void play(TimePoint start);
  void pause(std::unique_ptr<Recording> fresh);
  // Closes all connections of the lane by a TCP reset (RST), which leaves no connection in the state TIME_WAIT. The
  // lane opens no connection after that.
  void leave_all();

  // Called by a session when its connection has opened. `took` is how long the opening took.
  void connected(Session& session, const OpeningTimes& took, TimePoint now);
  // Called by a session when its connection could not be opened. `at` is kConnecting if the TCP connect has failed, and
  // kShaking if the handshake has failed.
  // `lost` counts messages that were sent on the session's previous connection and were not answered there. The session
  // would have sent them again on the new connection. These messages count as failed. If `lost` is 0, the failed
  // opening itself counts as one failure.
  void opening_failed(Session& session, Session::State at, size_t lost, std::error_code error);
  // Called by a session when its connection has failed. `was_open` is false if the connection failed while it was being
  // opened. `lost` is the number of messages that were in flight on the connection, or waited to be sent again on it.
  // These messages count as failed. If `lost` is 0, the broken connection counts as one failure, unless the measurement
  // has ended.
  void session_failed(Session& session, bool was_open, size_t lost, const std::string& kind,
                      const std::string& sentence);
  // Called by a session when the server has closed the connection and was allowed to do so. `was_idle` is true if no
  // message was in flight and the server had not announced the close.
  void server_left(Session& session, bool was_idle);
  void message_done(Session& session, const Stamp& stamp, TimePoint first_byte, TimePoint now);
  void message_wrong(const std::string& kind, const std::string& sentence);
  // Counts an answer whose HTTP status is `status`. The status must be from 0 to 999.
  void count_status(int status) {
    if (statuses_.empty()) [[unlikely]]
      statuses_.resize(kStatuses);
    ++statuses_[static_cast<size_t>(status)];
  }
  // Subtracts `messages` from the number of messages in flight.
  void leave_flight(size_t messages);
  // Called by a session that may be able to send more messages.
  // - In a closed loop, sends as many messages as the session may send now. Does nothing while the lane does not send,
  //   for example between two slices.
  // - In an open loop, adds the session to the list of free sessions if the session may send now. The Pacer sends each
  //   scheduled message on a session of this list. A message that has waited for a free session is sent at once. Does
  //   nothing after the end of the measurement.
  void has_room(Session& session, TimePoint now);
  // Called by a session when its connection has sent all messages that it may carry, and all of them were answered.
  // Closes this connection and opens a new one.
  void retire(Session& session);

  const LoadOptions& options() const { return options_; }
  Engine& engine() { return engine_; }
  // Returns the object by which the sessions connect, send and receive. Without TLS, this object is the engine. With
  // TLS, it is the TLS layer, which uses the engine.
  StreamPort& port() { return *port_; }
  Recording& recording() { return *recording_; }
  // Returns true if the lane sends in a closed loop now: each session sends its next message as soon as it gets an
  // answer. Returns false at times when the lane does not send, for example between two slices. In an open loop, always
  // returns false.
  bool circulates() const { return circulates_; }
  // Sends `count` messages on `session` and counts them as in flight. `count` must be at most session.room(). `due` is
  // the time from which the latency of these messages is measured.
  void start(Session& session, size_t count, TimePoint due, TimePoint now) {
    in_flight_ += count;
    session.send(count, due, now);
  }

  // The next functions return the results of the lane. Call them only after the lane's loop has ended.
  const Failures& failures() const { return failures_; }
  // Returns how many answers had each HTTP status. For example, statuses()[404] is the number of answers with status
  // 404. The span is empty if no answer had a status.
  std::span<const uint64_t> statuses() const { return statuses_; }
  size_t opened() const { return opened_; }
  size_t served() const { return served_; }
  const Queued& queued() const { return queued_; }
  size_t idle_open() const { return idle_open_; }
  uint64_t handshakes_failed() const { return handshakes_failed_; }
  // Returns the TLS version and the cipher that were chosen in the first handshake, for example "TLSv1.3,
  // TLS_AES_128_GCM_SHA256". Returns an empty text if they are not known.
  const std::string& agreed() const { return agreed_; }

 private:
  void queue(Session& session);
  void connect_more();
  bool may_connect();
  void connect_one(Session& session);
  void first_try_over(Session& session);
  void lost_connection(Session& session, bool was_open);
  // Says how the previous connection of a session ended. By this, reopen() decides whether to wait before it opens the
  // next connection, and whether to give the session up.
  //   kServed      without a failure, after at least one message was answered on it
  //   kUnasked     the server closed it while no message was in flight, and no message had been answered on it
  //   kInFailure   in any other way
  enum class Ended : uint8_t { kServed, kUnasked, kInFailure };
  void reopen(Session& session, Ended how);
  void give_up(Session& session);
  void note_handshake(const Session& session, Duration took);
  void check_settled();
  void check_out_of_connections();
  void sweep();
  void look_whether_quiet();
  void add_failure(const std::string& kind, const std::string& sentence, size_t count);
  template <class Report>
  void report(Report report) {
    run_->post([this, report = std::move(report)]() mutable { report(reports_, setup_.number); });
  }

  static constexpr size_t kStatuses = 1000;

  const Setup setup_;
  const LoadOptions& options_;
  Loop& loop_;
  Engine& engine_;
  std::unique_ptr<StreamPort> layer_port_;  // null if there is no layer such as TLS
  StreamPort* port_;
  LaneReports& reports_;
  const std::shared_ptr<Mailbox> run_;
  const RecordingParts parts_;
  std::unique_ptr<Recording> recording_;
  bool circulates_;
  bool ended_ = false;  // true after the end of the measurement
  bool settled_ = false;
  bool out_of_connections_ = false;
  std::unique_ptr<Pacer> pacer_;  // null in a closed loop
  std::vector<std::unique_ptr<Session>> sessions_;
  // `to_connect_` holds the sessions whose connections wait to be opened. `connecting_` counts the connections that are
  // being opened. `untried_` counts the sessions whose first attempt to connect has not ended.
  std::deque<Session*> to_connect_;
  size_t connecting_ = 0;
  size_t untried_ = 0;
  size_t alive_ = 0;  // sessions that were not given up; idle connections are not counted
  TimePoint connect_begin_;
  uint64_t attempts_ = 0;
  bool connect_timer_ = false;
  std::mt19937_64 random_;
  // Counts of connections and messages, and other results of the lane:
  // - `opened_` counts the sessions that had an open connection at least once.
  // - `open_` counts the connections that are open now.
  // - `idle_open_` counts the open connections that are kept idle on purpose. `opened_` and `open_` do not include
  //   them.
  size_t opened_ = 0;
  size_t open_ = 0;
  size_t idle_open_ = 0;
  size_t in_flight_ = 0;
  size_t served_ = 0;
  uint64_t handshakes_failed_ = 0;
  std::string agreed_;
  Queued queued_;
  std::vector<uint64_t> statuses_;
  Failures failures_;
  uint64_t failures_told_ = 0;
  // The next three members are used while a slice ends. The end begins with pause(), and is over when the lane reports
  // the cut of the slice:
  // - `next_recording_` becomes the current Recording when the slice has ended.
  // - `looks_soon_` is true while a task that checks for the end of the slice waits in the loop.
  // - `slice_due_` is how many messages the schedule had for the slice. Messages that were dropped because of their
  //   deadline are included. In a closed loop, `slice_due_` is 0.
  std::unique_ptr<Recording> next_recording_;
  bool looks_soon_ = false;
  uint64_t slice_due_ = 0;
  TimePoint span_begin_;
  Duration cpu_begin_{};
};

}  // namespace peal::load
