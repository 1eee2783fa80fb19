// SPDX-License-Identifier: BSD-3-Clause
// Lane: one thread's share of a run: its loop, its sessions, its pacer (with a rate), the recording being filled.
//
// Made and destroyed by the run while the loop's thread is not inside it; everything else happens on the loop's thread.
// It tells the run what happened by posting to the run's mailbox.
#pragma once

#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <load/load_options.h>
#include <load/pacer.h>
#include <load/recording.h>
#include <load/session.h>
#include <peal/loop/loop.h>

namespace peal::load {

enum class CutKind : uint8_t {
  kWarmUp,    // ends what does not count
  kInterval,  // inside the measurement
  kLast,      // ends the measurement, and what circulates with it
};

// What a lane hands over at an instant.
struct Cut {
  CutKind kind;
  std::unique_ptr<Recording> recording;
  std::optional<Duration> server_cpu;  // its CPU clock at that instant
  size_t in_flight = 0;                // messages sent and not back
  size_t open = 0;                     // connections
  uint64_t failures = 0;               // so far
  // With a rate, of a last cut: due before that instant but not sent; sent but not back.
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
  // It has settled and no connection is left.
  virtual void on_deserted(size_t lane) = 0;

 protected:
  ~LaneReports() = default;
};

class Lane {
 public:
  struct Setup {
    size_t number;
    size_t first_connection;  // of the whole run's
    size_t connections;
    std::optional<clockid_t> server_clock;  // read at each cut
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

  // Told by its sessions.
  void connected(Session& session);
  void connect_failed(std::error_code error);
  void session_failed(bool was_idle, const std::string& kind, const std::string& sentence);
  void message_done(Session& session);
  void idle(Session& session);

  Engine& engine() { return engine_; }
  Recording& recording() { return *recording_; }
  // What comes in goes straight back out: a closed loop that has not ended.
  bool circulates() const { return circulates_; }
  // Sends one message on a session that is open and idle.
  void start(Session& session) {
    ++busy_;
    session.start();
  }

  // As they are; meant for when the loop has ended.
  const Failures& failures() const { return failures_; }
  size_t opened() const { return opened_; }
  size_t served() const { return served_; }

 private:
  void connect_more();
  void check_settled();
  void tell_deserted();
  template <class Report>
  void report(Report report);

  const Setup setup_;
  const LoadOptions& options_;
  Engine& engine_;
  LaneReports& reports_;
  const std::shared_ptr<Mailbox> run_;
  std::unique_ptr<Recording> recording_;
  bool circulates_;
  bool ended_ = false;  // the last cut was made
  bool settled_ = false;
  bool gave_up_ = false;
  std::unique_ptr<Pacer> pacer_;  // with a rate
  std::vector<std::unique_ptr<Session>> sessions_;
  size_t next_to_connect_ = 0;
  size_t connecting_ = 0;
  size_t opened_ = 0;
  size_t open_ = 0;
  size_t busy_ = 0;  // sessions with something outstanding
  size_t served_ = 0;
  Failures failures_;
  TimePoint span_begin_;
  Duration cpu_begin_{};
};

}  // namespace peal::load
