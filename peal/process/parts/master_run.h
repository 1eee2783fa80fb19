// SPDX-License-Identifier: BSD-3-Clause
// MasterRun: the life of a master, from its first worker to its last.
//
//   starting ── all serve ──> serving ──┬─ SIGTERM, SIGQUIT, a place dies too often ──> ending ── nobody left ──> over
//      └─ one cannot serve ──> ending   ├─ SIGHUP: a new generation starts beside, and takes over or leaves again
//                                       └─ SIGUSR2: a successor starts beside; once it serves ──> ending
//
// It sleeps, then does what there is to do, in one place after the other; nothing interrupts it. One thread.
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
  // A worker's place in the generation that serves.
  struct Place {
    RespawnPolicy policy;
    TimePoint respawn_at = kNever;  // when nobody is there
  };

  struct ChildEnd {
    pid_t pid;
    int status;  // of waitpid(2)
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

  uint64_t generation_ = 0;  // the newest
  uint64_t serving_ = 0;     // the one that serves; 0: none yet
  size_t starting_ = 0;      // how many the newest is to have, while it starts; else 0
  TimePoint start_by_ = kNever;
  std::vector<Place> places_;  // of the generation that serves
  TimePoint watchdog_at_ = kNever;

  pid_t successor_ = 0;  // 0: none
  TimePoint succeed_by_ = kNever;
  bool replaced_ = false;         // the successor serves
  bool reload_deferred_ = false;  // asked for while workers started: until they serve, or have failed to
  bool replace_deferred_ = false;
  bool ending_ = false;
  bool draining_ = false;  // asked to once
  int exit_code_ = 0;
};

}  // namespace peal::detail
