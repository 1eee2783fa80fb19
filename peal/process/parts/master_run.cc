// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/master_run.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <peal/base/log.h>

namespace peal::detail {
namespace {

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const char* name = ::sigabbrev_np(WTERMSIG(status));
  return fmt::format("was ended by SIG{}", name == nullptr ? std::to_string(WTERMSIG(status)) : name);
}

std::string how_it_ended(const WorkerProcess& member, int status) {
  return fmt::format("worker {} (process {}) {}", member.place, member.pid, how_it_ended(status));
}

}  // namespace

MasterRun::MasterRun(MasterOptions& options, std::vector<SocketGroup>& groups, const Master::Work& work, Fd predecessor)
    : options_(options), groups_(groups), predecessor_(std::move(predecessor)) {
  Result<SignalInbox> inbox = SignalInbox::make();
  if (!inbox) {
    PEAL_LOG_ERROR("the master cannot start, because it cannot receive signals: {}", inbox.error().message());
    return;
  }
  inbox_.emplace(std::move(*inbox));
  workers_.emplace(groups, work, [this] {
    inbox_->close_in_child();
    predecessor_.reset();
  });
}

int MasterRun::run() {
  if (!inbox_) return 1;
  if (manager_.watchdog_interval() && manager_.present()) watchdog_at_ = monotonic_now();
  if (!open_worker_sockets() || !start_generation(options_.workers)) end_with(1);
  while (!ending_ || !workers_->empty() || (successor_ != 0 && succeed_by_ != kNever)) {
    inbox_->wait(run_due());
    turn();
  }
  stop_listening();
  inbox_->restore_mask();
  return exit_code_;
}

// Handles everything that has arrived, in an order that matters:
//   1. Ended workers are reaped before the reports are read. So the reports that they sent last are read in the same
//      turn.
//   2. Reports are handled before ends of processes. So a worker that served and died at once counts as one that
//      served, and the end of a worker that reported leaving is no death.
//   3. Ends of processes are handled before signals, because a reload must not count on workers that have died.
//   4. Signals are handled.
//   5. Replacements of leaving workers come last. If a SIGTERM to the whole process group made the workers leave, the
//      master has got it as well, is ending now, and replaces none of them.
void MasterRun::turn() {
  const std::vector<int> signals = inbox_->signals();
  std::vector<ChildEnd> ends;
  if (std::ranges::find(signals, SIGCHLD) != signals.end()) ends = reap();
  std::vector<WorkerProcess> leavers;
  for (const Report& report : inbox_->reports()) {
    if (report.kind == ReportKind::kServes) {
      handle_serves(report.pid);
    } else if (const WorkerProcess* leaver = mark_leaving(report.pid); leaver != nullptr) {
      leavers.push_back(*leaver);
    }
  }
  for (const ChildEnd& end : ends) handle_end(end);
  for (const int signal : signals) handle_signal(signal);
  for (const WorkerProcess& leaver : leavers) schedule_replacement(leaver);
}

void MasterRun::handle_signal(int signal) {
  switch (signal) {
    case SIGTERM:
      if (draining_) {
        end_at_once();
      } else {
        drain();
      }
      break;
    case SIGINT:
    case SIGQUIT: end_at_once(); break;
    case SIGHUP:
      workers_->signal(SIGUSR1);
      reload();
      break;
    case SIGUSR1: workers_->signal(SIGUSR1); break;
    case SIGUSR2: start_replacement(); break;
    default: break;
  }
}

void MasterRun::handle_serves(pid_t pid) {
  if (pid == successor_) return hand_over_to_successor();
  WorkerProcess* member = workers_->find(pid);
  if (member == nullptr) return;
  member->ready = true;
  if (!member->leaving) member->kill_at = kNever;
  if (starting_ == 0 || member->generation != generation_) return;
  const auto serves = [this](const WorkerProcess& each) { return each.generation == generation_ && each.ready; };
  if (static_cast<size_t>(std::ranges::count_if(workers_->members(), serves)) == starting_) take_over();
}

std::vector<MasterRun::ChildEnd> MasterRun::reap() {
  std::vector<ChildEnd> ends;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) ends.push_back({.pid = pid, .status = status});
  return ends;
}

// Records that a worker has reported leaving, and returns the worker. Returns null if the report has no effect: the
// worker is unknown or was leaving already, or the master is ending.
const WorkerProcess* MasterRun::mark_leaving(pid_t pid) {
  WorkerProcess* member = workers_->find(pid);
  if (member == nullptr || member->leaving || ending_) return nullptr;
  WorkerGroup::expect_end(*member, sum_of(options_.drain_time, options_.grace));
  return member;
}

// Schedules the start of a new worker in the place of `leaver` before `leaver` has ended, because `leaver` accepts no
// more connections from the sockets of that place.
void MasterRun::schedule_replacement(const WorkerProcess& leaver) {
  if (ending_) return;
  const std::string what = fmt::format("worker {} (process {}) was asked to leave", leaver.place, leaver.pid);
  if (starting_ > 0 && leaver.generation == generation_) return abandon_generation(what);
  if (leaver.generation != serving_) return;  // an old generation, or one that was abandoned in this turn
  PEAL_LOG_INFO("{}: its replacement starts", what);
  places_[leaver.place].respawn_at = monotonic_now();
}

void MasterRun::handle_end(const ChildEnd& end) {
  if (end.pid == successor_) return note_successors_end(end.status);
  const WorkerProcess* member = workers_->find(end.pid);
  if (member == nullptr) return;
  const WorkerProcess gone = *member;
  workers_->remove(end.pid);
  const bool failed = end.status != 0 && !gone.killed;
  if (gone.leaving && failed) PEAL_LOG_WARN("{} while it was leaving", how_it_ended(gone, end.status));
  if (!ending_ && (!gone.leaving || (failed && gone.generation == serving_))) return note_death(gone, end.status);
  const auto old = [this](const WorkerProcess& each) { return each.generation < serving_ && each.leaving; };
  if (old(gone) && std::ranges::none_of(workers_->members(), old)) {
    PEAL_LOG_INFO("the workers that made room are gone");
  }
}

// Counts a death and schedules the replacement. If the worker was leaving, the death is only counted: the replacement
// has started when the worker reported leaving, or starts after this turn. If the worker was of a generation that is
// still starting, abandons that generation.
void MasterRun::note_death(const WorkerProcess& member, int status) {
  const std::string how = how_it_ended(member, status);
  if (starting_ > 0 && member.generation == generation_) return abandon_generation(how);
  Place& place = places_[member.place];
  const TimePoint now = monotonic_now();
  const std::optional<Duration> pause = place.policy.died(now - member.born);
  if (!pause) {
    PEAL_LOG_CRITICAL("{}, after {} deaths in a row: the master gives up and ends", how, options_.respawn.most_deaths);
    drain();
    return end_with(1);
  }
  if (member.leaving) return;
  PEAL_LOG_WARN("{}; the next starts in {} ms", how,
                std::chrono::duration_cast<std::chrono::milliseconds>(*pause).count());
  place.respawn_at = later(now, *pause);
}

void MasterRun::note_successors_end(int status) {
  if (succeed_by_ != kNever) PEAL_LOG_ERROR("the new program (process {}) {}", successor_, how_it_ended(status));
  if (succeed_by_ != kNever && !ending_) PEAL_LOG_INFO("not replaced: this master continues");
  successor_ = 0;
  succeed_by_ = kNever;
}

// Does everything that is due now: kills what is overdue, starts replacements, does deferred actions and sends the
// watchdog message. Returns the time at which the next action is due.
TimePoint MasterRun::run_due() {
  const TimePoint now = monotonic_now();
  if (start_by_ <= now) abandon_generation("the new workers did not all serve in time");
  if (succeed_by_ <= now) {
    PEAL_LOG_ERROR("the new program (process {}) did not serve within start_timeout: killed", successor_);
    ::kill(successor_, SIGKILL);
    succeed_by_ = later(now, options_.grace);
  }
  if (watchdog_at_ <= now) {
    manager_.watchdog();
    watchdog_at_ = later(now, *manager_.watchdog_interval() / 2);
  }
  run_deferred();
  respawn(now);
  TimePoint next = std::min({workers_->kill_overdue(now), start_by_, succeed_by_, watchdog_at_});
  for (const Place& place : places_) next = std::min(next, place.respawn_at);
  return next;
}

bool MasterRun::start_worker(size_t place, size_t workers, uint64_t generation) {
  const Result<void> started =
      workers_->add({.place = place, .count = workers, .generation = generation, .drain_time = options_.drain_time},
                    options_.pin, inbox_->report_to());
  if (!started) PEAL_LOG_ERROR("worker {} cannot be started: {}", place, started.error().message());
  return started.has_value();
}

bool MasterRun::open_worker_sockets() {
  for (SocketGroup& group : groups_) {
    if (const Result<void> provided = group.open_for_workers(options_.workers); !provided) {
      PEAL_LOG_ERROR("{} sockets cannot listen at {}: {}", options_.workers, group.address().to_string(),
                     provided.error().message());
      return false;
    }
  }
  return true;
}

bool MasterRun::start_generation(size_t workers) {
  ++generation_;
  starting_ = workers;
  start_by_ = later(monotonic_now(), options_.start_timeout);
  for (size_t place = 0; place < workers; ++place) {
    if (start_worker(place, workers, generation_)) continue;
    abandon_generation("a worker could not be started");
    return false;
  }
  return true;
}

// Makes the newest generation the serving one, because all of its workers serve now. Asks the workers of older
// generations to leave.
void MasterRun::take_over() {
  places_.assign(std::exchange(starting_, 0), Place{RespawnPolicy(options_.respawn)});
  start_by_ = kNever;
  const bool first = std::exchange(serving_, generation_) == 0;
  if (first && options_.on_serving && !options_.on_serving()) {
    drain();
    return end_with(1);
  }
  if (!first) PEAL_LOG_INFO("reloaded: {} new workers serve, the old ones make room", places_.size());
  workers_->request_exit(SIGHUP, sum_of(options_.drain_time, options_.grace), [this](const WorkerProcess& member) {
    return member.generation < serving_ && !member.leaving;
  });
  // If this master has a predecessor, the predecessor tells the service manager that this process is ready
  // (ServiceManager::succeeded_by()). Until then the manager may ignore messages of this process (NotifyAccess=main).
  const bool told = predecessor_ && send_report(predecessor_.get(), ReportKind::kServes);
  predecessor_.reset();
  if (!told) manager_.ready(fmt::format("{} workers serve", places_.size()));
}

// Asks the workers of the newest generation to leave. They make room instead of being killed, because some may have
// accepted connections already. If no generation serves, the master ends.
void MasterRun::abandon_generation(const std::string& why) {
  starting_ = 0;
  start_by_ = kNever;
  workers_->request_exit(SIGHUP, sum_of(options_.drain_time, options_.grace),
                         [this](const WorkerProcess& member) { return member.generation == generation_; });
  if (serving_ == 0) {
    PEAL_LOG_CRITICAL("{}: not started", why);
    return end_with(1);
  }
  PEAL_LOG_ERROR("{}: not reloaded, the old workers continue", why);
  manager_.ready("not reloaded: " + why);
}

void MasterRun::respawn(TimePoint now) {
  if (ending_) return;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].respawn_at > now) continue;
    const bool started = start_worker(i, places_.size(), serving_);
    places_[i].respawn_at = started ? kNever : later(now, options_.respawn.longest_pause);
    if (started) workers_->members().back().kill_at = later(now, options_.start_timeout);  // unless it reports before
  }
}

void MasterRun::reload() {
  if (ending_) return;
  if (starting_ > 0) {
    reload_deferred_ = true;
    return PEAL_LOG_INFO("workers are starting: the reload is deferred until they serve");
  }
  manager_.reloading();
  if (successor_ != 0) {
    PEAL_LOG_WARN("not reloaded: process {} is about to replace this one", successor_);
    return manager_.ready("not reloaded: the program is being replaced");
  }
  size_t workers = places_.size();
  if (options_.on_reload) {
    const Result<size_t> wanted = options_.on_reload();
    if (!wanted || *wanted == 0) {
      PEAL_LOG_ERROR("not reloaded: {}", wanted ? "on_reload returned 0 workers" : wanted.error().message());
      return manager_.ready("not reloaded");
    }
    workers = *wanted;
  }
  if (!start_generation(workers)) manager_.ready("not reloaded");
}

void MasterRun::start_replacement() {
  if (ending_) return PEAL_LOG_WARN("not replaced: this master is ending");
  if (starting_ > 0) {
    replace_deferred_ = true;
    return PEAL_LOG_INFO("workers are starting: the replacement is deferred until they serve");
  }
  if (successor_ != 0)
    return PEAL_LOG_WARN("not replaced: process {} is already starting as the replacement", successor_);
  const Result<pid_t> started = start_successor(command_, groups_, inbox_->report_to(), inbox_->mask_before());
  if (!started) return PEAL_LOG_ERROR("not replaced: {}", started.error().message());
  successor_ = *started;
  succeed_by_ = later(monotonic_now(), options_.start_timeout);
  PEAL_LOG_INFO("process {} is to replace this one: {}", successor_, command_.program());
}

// Does the reload and the replacement of the program that were deferred while workers started. The reload comes first,
// because it would be refused after the replacement has begun.
void MasterRun::run_deferred() {
  if (ending_ || starting_ > 0) return;
  if (std::exchange(reload_deferred_, false)) reload();
  if (starting_ == 0 && std::exchange(replace_deferred_, false)) start_replacement();
}

void MasterRun::hand_over_to_successor() {
  PEAL_LOG_INFO("replaced by process {}: making room", successor_);
  manager_.succeeded_by(successor_);
  succeed_by_ = kNever;
  ending_ = true;
  replaced_ = true;
  for (Place& place : places_) place.respawn_at = kNever;
  watchdog_at_ = kNever;
  groups_.clear();  // closes the sockets, but leaves the socket files to the successor
  workers_->request_exit(SIGHUP, sum_of(options_.drain_time, options_.grace),
                         [](const WorkerProcess& member) { return !member.leaving; });
}

void MasterRun::drain() {
  const bool first = !std::exchange(draining_, true);
  if (first && !replaced_) manager_.stopping();
  end_with(exit_code_);
  workers_->request_exit(SIGTERM, sum_of(options_.drain_time, options_.grace),
                         [](const WorkerProcess&) { return true; });
  if (successor_ != 0 && !replaced_) ::kill(successor_, SIGTERM);
  stop_listening();  // clients that connect now are refused, instead of waiting in a queue that no worker serves
}

// Closes the sockets and removes their files. If this master is a successor that has not served yet, it leaves the
// files, because its predecessor continues to use them.
void MasterRun::stop_listening() {
  if (!predecessor_) {
    for (SocketGroup& group : groups_) group.close();
  }
  groups_.clear();
}

void MasterRun::end_at_once() {
  if (!draining_) drain();
  workers_->request_exit(SIGQUIT, options_.grace, [](const WorkerProcess&) { return true; });
}

void MasterRun::end_with(int exit_code) {
  ending_ = true;
  exit_code_ = exit_code;
  starting_ = 0;
  start_by_ = kNever;
  for (Place& place : places_) place.respawn_at = kNever;
}

}  // namespace peal::detail
