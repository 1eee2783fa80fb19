// SPDX-License-Identifier: BSD-3-Clause
// MasterRun: the life of a master, from its first worker to its last.
//
//   starting ── all serve ──> serving ──┬─ SIGTERM, SIGQUIT, too many deaths ──> ending ── all workers ended ──> over
//      └─ one cannot serve ──> ending   ├─ SIGHUP: a new generation starts beside, and takes over or is abandoned
//                                       └─ SIGUSR2: a successor starts beside; when it serves ──> ending
//
// The master sleeps until a signal, a report or a deadline arrives, handles what has arrived in turn(), and sleeps
// again. All of it runs on one thread, and no signal handler interrupts it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/process/master.h>
#include <peal/process/parts/handover.h>
#include <peal/process/parts/respawn_policy.h>
#include <peal/process/parts/signal_inbox.h>
#include <peal/process/parts/worker_group.h>

namespace peal::detail {

class MasterRun {
 public:
  MasterRun(MasterOptions& options, std::vector<SocketGroup>& groups, const Master::Work& work, Fd predecessor);
  int run();

 private:
  // The state of one worker's place in the generation that serves.
  struct Place {
    RespawnPolicy policy;
    TimePoint respawn_at = kNever;  // when the next worker of this place starts; kNever if the place has a worker
  };

  struct ChildEnd {
    pid_t pid;
    int status;  // as waitpid(2) returns it
  };

  void turn();
  static std::vector<ChildEnd> reap();
  void handle_signal(int signal);
  void handle_serves(pid_t pid);
  void handle_end(const ChildEnd& end);
  const WorkerProcess* mark_leaving(pid_t pid);
  void schedule_replacement(const WorkerProcess& leaver);
  void note_death(const WorkerProcess& member, int status);
  void note_successors_end(int status);
  TimePoint run_due();

  bool open_worker_sockets();
  bool start_generation(size_t workers);
  bool start_worker(size_t place, size_t workers, uint64_t generation);
  void take_over();
  void abandon_generation(const std::string& why);
  void respawn(TimePoint now);
  void reload();
  void start_replacement();
  void run_deferred();
  void hand_over_to_successor();
  void drain();
  void stop_listening();
  void end_at_once();
  void end_with(int exit_code);

  MasterOptions& options_;
  std::vector<SocketGroup>& groups_;
  Fd predecessor_;
  const ServiceManager manager_;
  CommandLine command_;
  std::optional<SignalInbox> inbox_;
  std::optional<WorkerGroup> workers_;

  uint64_t generation_ = 0;  // the newest generation, which serves or starts
  uint64_t serving_ = 0;     // the generation that serves; 0 if none does yet
  size_t starting_ = 0;      // the number of workers of the newest generation while it starts; 0 otherwise
  TimePoint start_by_ = kNever;
  std::vector<Place> places_;  // the places of the generation that serves
  TimePoint watchdog_at_ = kNever;

  pid_t successor_ = 0;  // the process that is to replace this master; 0 if there is none
  TimePoint succeed_by_ = kNever;
  bool replaced_ = false;          // true if the successor serves
  bool reload_deferred_ = false;   // true if SIGHUP came while workers started; done when they serve or have failed
  bool replace_deferred_ = false;  // true if SIGUSR2 came while workers started
  bool ending_ = false;
  bool draining_ = false;  // true after the first SIGTERM: a second one ends at once
  int exit_code_ = 0;
};

}  // namespace peal::detail
