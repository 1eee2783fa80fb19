// SPDX-License-Identifier: BSD-3-Clause
// Lane: one thread's share of a run: its loop, its sessions, its pacer (open loop), the recording being filled.
//
// Made and destroyed by the run while the loop's thread is not inside it; everything else happens on the loop's thread.
// It tells the run what happened by posting to the run's mailbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
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

enum class CutKind : uint8_t {
  kWarmUp,    // ends what does not count
  kInterval,  // inside the measurement
  kSlice,     // ends a slice: everything sent has come back, every connection is open
  kLast,      // ends the measurement, and what circulates with it
};

// What a lane hands over at an instant.
struct Cut {
  CutKind kind;
  std::unique_ptr<Recording> recording;
  std::optional<ServerLook> server;  // at that instant
  size_t in_flight = 0;              // messages sent and not back
  size_t open = 0;                   // connections
  uint64_t failures = 0;             // since the cut before
  uint64_t due = 0;                  // open loop: messages that were due by then
  // Of a last cut: due before that instant but not sent (open loop); sent but not back.
  uint64_t unsent = 0;
  uint64_t unanswered = 0;
};

// Called on the run's thread.
class LaneReports {
 public:
  // All its connections are open or have failed.
  virtual void on_settled(size_t lane) = 0;
  virtual void on_cut(size_t lane, Cut cut) = 0;
  // After the last cut: everything sent has come back, or its connection has failed.
  virtual void on_quiet(size_t lane) = 0;
  // It has settled, no connection is left and none will be tried.
  virtual void on_out_of_connections(size_t lane) = 0;

 protected:
  ~LaneReports() = default;
};

// Of `all` connections, those of this lane.
size_t share_of(size_t all, size_t lane, size_t lanes);

// What a lane with these options measures.
RecordingParts recording_parts(const LoadOptions& options, const Protocol& protocol);

class Lane {
 public:
  struct Setup {
    size_t number;
    size_t first_connection;  // of the whole run's
    size_t connections;
    size_t idle_connections;
    ServerProbe* server;     // looked at by one lane alone; may be null
    bool in_slices = false;  // nothing is sent but in slices; else from begin() to the last cut
  };

  // All of these outlive the lane.
  Lane(const Setup& setup, const LoadOptions& options, const Protocol& protocol, Loop& loop, LaneReports& reports,
       std::shared_ptr<Mailbox> run);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // The run's commands, in this order; cut() any number of times.
  void connect_all();
  void give_up_connecting();
  void begin(TimePoint start);
  void cut(CutKind kind, std::unique_ptr<Recording> fresh);
  // The run is over: what is still in flight is not waited for, nor heard when it comes.
  void give_up_waiting();

  // Instead of begin() and cut(), again and again: a slice begins; it ends, and once all is back its cut is reported.
  // A slice that cut() has ended goes over into the next.
  void play(TimePoint start);
  void pause(std::unique_ptr<Recording> fresh);
  // Resets every connection; nothing is opened any more.
  void leave_all();

  // Told by its sessions.
  void connected(Session& session, const OpeningTimes& took, TimePoint now);
  // `at` says in which half.
  void opening_failed(Session& session, Session::State at, size_t lost, std::error_code error);
  void session_failed(Session& session, bool was_open, size_t lost, const std::string& kind,
                      const std::string& sentence);
  void server_left(Session& session, bool was_idle);
  void message_done(Session& session, const Stamp& stamp, TimePoint first_byte, TimePoint now);
  void message_wrong(const std::string& kind, const std::string& sentence);
  // So many messages are not in flight any more.
  void leave_flight(size_t messages);
  void has_room(Session& session, TimePoint now);
  // Its connection has carried all it should.
  void retire(Session& session);

  const LoadOptions& options() const { return options_; }
  Engine& engine() { return engine_; }
  // Where the streams of sessions are.
  StreamPort& port() { return *port_; }
  Recording& recording() { return *recording_; }
  // Who has an answer sends again: a closed loop that has begun and has not ended.
  bool circulates() const { return circulates_; }
  // Sends messages on a session that has room for them.
  void start(Session& session, size_t count, TimePoint due, TimePoint now) {
    in_flight_ += count;
    session.send(count, due, now);
  }

  // As they are; meant for when the loop has ended.
  const Failures& failures() const { return failures_; }
  size_t opened() const { return opened_; }
  size_t served() const { return served_; }
  const Queued& queued() const { return queued_; }
  size_t idle_open() const { return idle_open_; }
  uint64_t handshakes_failed() const { return handshakes_failed_; }
  // What the layer of the first connection that opened has agreed on: "TLSv1.3, TLS_AES_128_GCM_SHA256". Empty:
  // nothing.
  const std::string& agreed() const { return agreed_; }

 private:
  void queue(Session& session);
  void connect_more();
  bool may_connect();
  void connect_one(Session& session);
  void first_try_over(Session& session);
  void lost_connection(Session& session, bool was_open);
  // How its last connection ended: it had served; nothing was asked on it, and the server closed it; else.
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

  const Setup setup_;
  const LoadOptions& options_;
  Loop& loop_;
  Engine& engine_;
  std::unique_ptr<StreamPort> layer_port_;  // none: no layer
  StreamPort* port_;
  LaneReports& reports_;
  const std::shared_ptr<Mailbox> run_;
  const RecordingParts parts_;
  std::unique_ptr<Recording> recording_;
  bool circulates_;
  bool ended_ = false;  // the last cut was made
  bool settled_ = false;
  bool out_of_connections_ = false;
  std::unique_ptr<Pacer> pacer_;  // open loop
  std::vector<std::unique_ptr<Session>> sessions_;
  // Opening.
  std::deque<Session*> to_connect_;
  size_t connecting_ = 0;
  size_t untried_ = 0;
  size_t alive_ = 0;  // sessions that are not given up, the idle ones not counted
  TimePoint connect_begin_;
  uint64_t attempts_ = 0;
  bool connect_timer_ = false;
  std::mt19937_64 random_;
  // What there is now.
  size_t opened_ = 0;
  size_t open_ = 0;
  size_t idle_open_ = 0;
  size_t in_flight_ = 0;
  size_t served_ = 0;
  uint64_t handshakes_failed_ = 0;
  std::string agreed_;
  Queued queued_;
  Failures failures_;
  uint64_t failures_told_ = 0;
  // The slice that is ending: what takes its recording's place; what was due in it.
  std::unique_ptr<Recording> next_recording_;
  bool looks_soon_ = false;
  uint64_t slice_due_ = 0;
  TimePoint span_begin_;
  Duration cpu_begin_{};
};

}  // namespace peal::load
