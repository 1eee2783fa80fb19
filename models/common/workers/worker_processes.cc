// SPDX-License-Identifier: BSD-3-Clause
// No signal handler is used. The signals are blocked, and sigtimedwait(2) fetches one at a time. Therefore a signal
// never interrupts this code.
#include <models/common/workers/worker_processes.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <utility>
#include <vector>

#include <peal/base/assert.h>
#include <peal/base/log.h>

namespace peal::models {
namespace {

constexpr Duration kLivedLong = std::chrono::seconds(1);  // a worker that lived this long has not failed at its start
constexpr Duration kFirstPause = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::seconds(2);
constexpr Duration kGrace = std::chrono::milliseconds(500);         // the time from SIGTERM to SIGKILL
constexpr Duration kOrphansGrace = std::chrono::milliseconds(200);  // the wait for processes that workers left behind
constexpr int kSaidWhy = 70;  // the exit code of a worker that has logged its error

sigset_t only_child_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

// The constructor prepares this process to be the master of worker processes:
// - Blocks SIGCHLD, so that the master can wait for this signal with sigtimedwait(2).
// - Sets the default action of SIGCHLD. If this process had inherited SIG_IGN, the kernel would reap the workers, and
//   the master would not learn how a worker has ended.
// - Makes this process a subreaper (prctl(2)). If a worker ends, the processes that it has forked become children of
//   this process, so that the master can reap them.
//
// The destructor restores the previous state.
class MasterState {
 public:
  MasterState() {
    const sigset_t child = only_child_signal();
    ::pthread_sigmask(SIG_BLOCK, &child, &mask_);
    struct sigaction heard{};  // SIG_DFL: with an inherited SIG_IGN, the kernel would reap the workers
    heard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &heard, &child_action_);
    ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1UL);
  }
  ~MasterState() {
    ::prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(subreaper_));
    ::sigaction(SIGCHLD, &child_action_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  MasterState(const MasterState&) = delete;
  MasterState& operator=(const MasterState&) = delete;

  const sigset_t& mask() const { return mask_; }

 private:
  sigset_t mask_{};
  struct sigaction child_action_{};
  int subreaper_ = 0;
};

// Waits for a signal of `set` and returns its number. Returns 0 if the deadline has passed.
int next_signal(const sigset_t& set, TimePoint deadline) {
  for (;;) {
    const Duration left = std::max(deadline - monotonic_now(), Duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    const int signal = ::sigtimedwait(&set, nullptr, &timeout);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
    PEAL_ASSERT(errno == EINTR, "sigtimedwait failed: {}", errno);
  }
}

// A worker uses this class to tell the master that the next worker can start (WorkerStart::make_room). The calling
// worker has stopped accepting clients, but still serves its last clients. The worker stores its pid in memory that it
// shares with the master, and sends SIGCHLD, which wakes the master. The pid is necessary, because several pending
// SIGCHLD signals become one. Therefore the signal alone does not tell the master which workers have sent it.
class RoomMade {
 public:
  // Allocates memory that the master shares with its workers: an array of `places` pids, one for each worker. Fails
  // with ENOMEM.
  static Result<RoomMade> make(size_t places) {
    void* memory = ::mmap(nullptr, places * sizeof(Pid), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return fail(errno);
    return RoomMade(new (memory) Pid[places]{}, places);
  }
  RoomMade(RoomMade&& other) noexcept : pids_(std::exchange(other.pids_, nullptr)), places_(other.places_) {}
  RoomMade& operator=(RoomMade&&) = delete;
  ~RoomMade() {
    if (pids_ != nullptr) ::munmap(pids_, places_ * sizeof(Pid));
  }

  // Asks the process `master` to replace the calling worker, whose index is `place`. Stores the worker's pid, then
  // sends SIGCHLD.
  void say(size_t place, pid_t master) {
    pids_[place].store(::getpid());
    ::kill(master, SIGCHLD);
  }
  // Returns true if the worker `pid`, whose index is `place`, has called say(). In this case, also removes the stored
  // pid, so that the next call of take() returns false. The master calls this function.
  bool take(size_t place, pid_t pid) { return pids_[place].compare_exchange_strong(pid, 0); }

 private:
  using Pid = std::atomic<pid_t>;
  RoomMade(Pid* pids, size_t places) : pids_(pids), places_(places) {}

  Pid* pids_;
  const size_t places_;
};

// The master's data about the workers with one index: the worker that is running, and when to start the next one.
struct WorkerPlace {
  pid_t pid = 0;  // 0: no worker with this index is running
  TimePoint started{};
  Duration pause{};                    // how long to wait before the next worker starts
  TimePoint respawn_at = TimePoint();  // when to start the next worker, if pid is 0
};

class Master {
 public:
  Master(ModelRun& run, RoomMade room_made, size_t count, WorkerEnd end,
         const std::function<Result<void>(const WorkerStart&)>& work)
      : run_(run), end_(end), work_(work), room_made_(std::move(room_made)), places_(count) {}

  Result<void> start_all();
  // Replaces each worker once: when the worker calls WorkerStart::make_room, or otherwise when the worker ends. Returns
  // when SIGTERM or SIGINT arrives.
  void mind();
  void end_all();

 private:
  Result<void> start(size_t index);
  [[noreturn]] void work_in_child(size_t index, pid_t master) noexcept;
  void reap();
  void make_room();
  void note_death(size_t index, int status);
  void respawn();
  bool anybody() const;

  ModelRun& run_;
  const WorkerEnd end_;
  const std::function<Result<void>(const WorkerStart&)>& work_;
  const MasterState state_;
  RoomMade room_made_;
  std::vector<WorkerPlace> places_;
  std::vector<pid_t> leaving_;  // workers that have called make_room() and not ended yet
};

Result<void> Master::start_all() {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (Result<void> started = start(i); !started) return started;
  }
  return {};
}

Result<void> Master::start(size_t index) {
  const pid_t master = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno);
  if (pid == 0) work_in_child(index, master);
  places_[index].pid = pid;
  places_[index].started = monotonic_now();
  return {};
}

// Runs the worker's function work_ in the child process. work_in_child() is noexcept, so an exception of work_ ends the
// child immediately. Otherwise the exception would reach the callers of work_in_child(), and the child would execute
// code of the master.
void Master::work_in_child(size_t index, pid_t master) noexcept {
  die_with_parent(master);
  if (end_ == WorkerEnd::kBySignal) {
    ::signal(SIGTERM, SIG_DFL);
    ::signal(SIGINT, SIG_IGN);
  }
  ::pthread_sigmask(SIG_SETMASK, &state_.mask(), nullptr);
  if (end_ == WorkerEnd::kBySignal) {
    const sigset_t ends = Stop::signals();
    ::pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  }
  const Result<void> done = work_(WorkerStart{index, [&] { room_made_.say(index, master); }});
  if (!done) PEAL_LOG_WARN("worker {} failed: {}", index, done.error().message());
  ::_exit(done ? 0 : kSaidWhy);
}

void Master::mind() {
  sigset_t signals = Stop::signals();
  ::sigaddset(&signals, SIGCHLD);
  for (;;) {
    TimePoint wake = kNever;
    for (const WorkerPlace& place : places_) {
      if (place.pid == 0) wake = std::min(wake, place.respawn_at);
    }
    const TimePoint tick = monotonic_now() + std::chrono::hours(1);
    const int signal = next_signal(signals, std::min(wake, tick));
    if (signal == SIGTERM || signal == SIGINT) return;
    make_room();
    reap();
    respawn();
  }
}

void Master::make_room() {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].pid == 0 || !room_made_.take(i, places_[i].pid)) continue;
    leaving_.push_back(places_[i].pid);
    places_[i] = WorkerPlace{};
  }
}

void Master::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    // A child has no entry in places_ in two cases:
    // - The child is a worker that has called WorkerStart::make_room. Its pid is in leaving_, because its entry in
    //   places_ now belongs to the worker that replaces it.
    // - The child is not a worker. For example, a worker has forked the child, and the worker has ended.
    const auto place = std::find_if(places_.begin(), places_.end(), [&](const WorkerPlace& p) { return p.pid == pid; });
    if (place != places_.end()) note_death(static_cast<size_t>(place - places_.begin()), status);
    std::erase(leaving_, pid);
  }
}

void Master::note_death(size_t index, int status) {
  WorkerPlace& place = places_[index];
  const TimePoint now = monotonic_now();
  const bool made_room = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (made_room || now - place.started >= kLivedLong) {
    place.pause = Duration::zero();
  } else {
    place.pause = std::clamp(2 * place.pause, kFirstPause, kLongestPause);
  }
  place.respawn_at = now + place.pause;
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    PEAL_LOG_WARN("worker {} (process {}) was ended by signal {} ({})", index, place.pid, WTERMSIG(status),
                  name == nullptr ? "?" : name);
  } else if (!made_room && WEXITSTATUS(status) != kSaidWhy) {
    PEAL_LOG_WARN("worker {} (process {}) ended with exit code {}", index, place.pid, WEXITSTATUS(status));
  }
  place.pid = 0;
}

void Master::respawn() {
  const TimePoint now = monotonic_now();
  Tally tally;
  for (size_t i = 0; i < places_.size(); ++i) {
    WorkerPlace& place = places_[i];
    if (place.pid != 0 || place.respawn_at > now) continue;
    if (const Result<void> started = start(i); started) {
      ++tally.respawned;
    } else {
      place.pause = std::clamp(2 * place.pause, kFirstPause, kLongestPause);
      place.respawn_at = now + place.pause;
      PEAL_LOG_WARN("worker {} could not be started again, the next try follows: {}", i, started.error().message());
    }
  }
  run_.statistics.add(tally);
}

bool Master::anybody() const {
  return !leaving_.empty() ||
         std::any_of(places_.begin(), places_.end(), [](const WorkerPlace& place) { return place.pid != 0; });
}

void Master::end_all() {
  const auto tell_all = [this](int signal) {
    for (const WorkerPlace& place : places_) {
      if (place.pid != 0) ::kill(place.pid, signal);
    }
    for (const pid_t pid : leaving_) ::kill(pid, signal);
  };
  // Reaps every child that has ended, also children that are not workers. Ignores the exit statuses of the workers,
  // because end_all() has already sent SIGTERM or SIGKILL to all workers.
  const auto reap_some = [this] {
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
      for (WorkerPlace& place : places_) {
        if (place.pid == pid) place.pid = 0;
      }
      std::erase(leaving_, pid);
    }
    return pid == 0;  // true if children are left
  };
  const sigset_t child = only_child_signal();
  tell_all(SIGTERM);
  const TimePoint deadline = monotonic_now() + kGrace;
  for (reap_some(); anybody() && next_signal(child, deadline) != 0;) reap_some();
  tell_all(SIGKILL);
  while (anybody()) {
    reap_some();
    if (anybody()) next_signal(child, monotonic_now() + kGrace);
  }
  // Reaps the processes that the workers have forked. These processes end soon: each of them has called
  // die_with_parent(), so the kernel has killed it when its worker ended. This process may also have other children,
  // which have nothing to do with the workers and may never end. Therefore waits at most for kOrphansGrace.
  const TimePoint patience = monotonic_now() + kOrphansGrace;
  while (reap_some() && next_signal(child, patience) != 0) {
  }
}

}  // namespace

Result<void> run_worker_processes(ModelRun& run, size_t count, WorkerEnd end,
                                  const std::function<Result<void>(const WorkerStart&)>& work) {
  PEAL_ASSERT(count > 0, "a master needs workers");
  Result<RoomMade> room_made = RoomMade::make(count);
  if (!room_made) return std::unexpected(room_made.error());
  Master master(run, std::move(*room_made), count, end, work);
  Result<void> started = master.start_all();
  if (started) master.mind();
  master.end_all();
  return started;
}

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL));
  if (::getppid() != parent) ::_exit(0);  // the parent ended before the call of prctl(2)
}

}  // namespace peal::models
