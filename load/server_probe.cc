// SPDX-License-Identifier: BSD-3-Clause
#include <load/server_probe.h>

#include <algorithm>
#include <utility>

namespace peal::load {
namespace {

// The highest number of attempts in one call of look(). Each attempt lists the processes and reads their CPU times. If
// a process disappears while the CPU times are read, the sum may be wrong, and look() makes another attempt. look()
// uses the result of the eighth attempt even if a process has disappeared again, because look() must end. The sum may
// be wrong by the CPU times of the processes that disappeared during this attempt.
constexpr int kMostLooks = 8;

template <class Member>
std::unordered_map<int, const Member*> by_pid(const std::vector<Member>& members) {
  std::unordered_map<int, const Member*> index;
  for (const Member& member : members) index[member.pid] = &member;
  return index;
}

}  // namespace

Result<ServerProbe> ServerProbe::of(int pid) {
  // No process has a pid of 0 or less. For pid 0, cpu_clock_of() would return the CPU clock of the calling process.
  // of() would then fail with EACCES and not with ESRCH, because /proc has no files for pid 0.
  if (pid <= 0) return fail(ESRCH);
  if (const Result<clockid_t> clock = cpu_clock_of(pid); !clock) return std::unexpected(clock.error());
  const Result<ProcessStat> stat = read_process_stat(pid);
  if (!stat) return std::unexpected(stat.error());
  ServerProbe probe(pid, stat->started);
  // The first measurement finds all processes that exist now. Later measurements can then find these processes even if
  // their parents have ended.
  if (const Result<ServerLook> first = probe.look(); !first) return std::unexpected(first.error());
  return probe;
}

Result<std::vector<ServerProbe::Member>> ServerProbe::list() const {
  const Result<ProcessStat> top = read_process_stat(pid_);
  if (!top) return std::unexpected(top.error());
  if (top->started != started_) return fail(ESRCH);
  const ChildFinder finder;
  std::vector<Member> tree;
  std::unordered_set<int> listed;
  if (const Result<void> done = list_below({.pid = pid_, .stat = *top}, finder, tree, listed); !done) {
    return std::unexpected(done.error());
  }
  // Adds processes that the last measurement has found, but that are not in `tree` yet. These processes may still run.
  // list_below() has not found such a process for one of these reasons:
  // - The parent of the process has ended, so the process has another parent now.
  // - The kernel's list of children was incomplete. The kernel may leave out a child if another child ends while the
  //   list is read.
  for (const Member& known : members_) {
    if (listed.contains(known.pid)) continue;
    const Result<ProcessStat> stat = read_process_stat(known.pid);
    if (!stat && stat.error() == errno_code(ESRCH)) continue;
    if (!stat) return std::unexpected(stat.error());
    if (stat->started != known.stat.started) continue;
    if (const Result<void> done = list_below({.pid = known.pid, .stat = *stat}, finder, tree, listed); !done) {
      return std::unexpected(done.error());
    }
  }
  return tree;
}

// Adds the process `top` and all its descendants to `tree`. Each parent comes before its children. `listed` holds the
// pids of all processes in `tree`.
Result<void> ServerProbe::list_below(const Member& top, const ChildFinder& finder, std::vector<Member>& tree,
                                     std::unordered_set<int>& listed) {
  size_t next = tree.size();
  tree.push_back(top);
  listed.insert(top.pid);
  for (; next < tree.size(); ++next) {
    for (const int child : finder.children_of(tree[next].pid)) {
      const Result<ProcessStat> stat = read_process_stat(child);
      if (!stat && stat.error() != errno_code(ESRCH)) return std::unexpected(stat.error());
      // The pid is skipped in these cases:
      // - The child has ended since the list of its parent's children was read.
      // - The child has ended, and the kernel has given its pid to another process. The other process is recognized by
      //   its other parent. If the parent is the same, the other process is a new child and is added.
      // - The pid is in `tree` already.
      if (!stat || stat->parent != tree[next].pid || !listed.insert(child).second) continue;
      tree.push_back({.pid = child, .stat = *stat});
    }
  }
  return {};
}

// Reads the CPU times of all processes in `tree`. First reads the CPU clock of each process. After that, reads for each
// process the CPU time of its ended children. Sets `at` to the middle of the time in which the clocks were read.
// Removes processes that no longer exist from `tree`. Returns false if a process was removed, because the sum of the
// times may be too low in this case. The kernel adds the time of a process to its parent when the process disappears.
// If the parent was read before, the time is missing.
// No time is counted twice. A parent comes before its children in `tree`, so the parent is read before the child. If
// the child still exists when the child is read, the parent's times do not yet include those of the child.
bool ServerProbe::read_cpu(std::vector<Member>& tree, TimePoint& at) {
  const TimePoint begin = monotonic_now();
  for (Member& member : tree) {
    const Result<clockid_t> clock = cpu_clock_of(member.pid);
    const std::optional<Duration> cpu = clock ? cpu_time(*clock) : std::nullopt;
    member.cpu = cpu.value_or(Duration::zero());
    member.gone = !cpu;
  }
  at = begin + (monotonic_now() - begin) / 2;
  for (Member& member : tree) {
    const Result<ProcessStat> stat = read_process_stat(member.pid);
    if (stat && stat->started == member.stat.started) {
      member.stat = *stat;
    } else {
      member.gone = true;
    }
  }
  return std::erase_if(tree, [](const Member& member) { return member.gone; }) == 0;
}

// Returns the sum of the last known CPU times of the processes that are in `before`, but no longer exist. Leaves out a
// process if the kernel has added its time to an ancestor that still exists.
Duration ServerProbe::lost_between(const std::vector<Member>& before, const std::vector<Member>& after) {
  const auto known = by_pid(before);
  const auto living = by_pid(after);
  const auto find = [](const auto& index, int pid) {
    const auto found = index.find(pid);
    return found == index.end() ? nullptr : found->second;
  };
  const auto lives = [&](const Member& member) {
    const Member* const found = find(living, member.pid);
    return found != nullptr && found->stat.started == member.stat.started;
  };
  Duration lost{};
  for (const Member& gone : before) {
    if (lives(gone)) continue;
    // Searches for the nearest ancestor that still exists. If the search finds an ancestor, the function assumes that
    // the ancestor's time already includes the time of the ended process. The assumption is true if each process
    // between the two has waited for its child. If one of these processes has ended without waiting for its child, the
    // time of the ended process is lost. The search stops at a process that ignores SIGCHLD, because the kernel
    // discards the time of its children.
    const Member* parent = find(known, gone.stat.parent);
    while (parent != nullptr && !parent->forgets_children && !lives(*parent)) parent = find(known, parent->stat.parent);
    if (parent == nullptr || parent->forgets_children) lost += gone.cpu + gone.stat.children_cpu;
  }
  return lost;
}

Result<ServerLook> ServerProbe::look() {
  ServerLook look;
  Result<std::vector<Member>> tree;
  for (int looks = 0; looks < kMostLooks; ++looks) {
    tree = list();
    if (!tree) return std::unexpected(tree.error());
    if (read_cpu(*tree, look.at)) break;
  }
  if (tree->empty() || tree->front().pid != pid_) return fail(ESRCH);
  lost_cpu_ += lost_between(members_, *tree);
  members_ = std::move(*tree);
  look.cpu = lost_cpu_;
  for (const Member& member : members_) {
    look.cpu += member.cpu + member.stat.children_cpu;
    look.rss_bytes += member.stat.resident_bytes;
    look.processes += member.stat.alive ? 1 : 0;
  }
  // The sum over all processes can be a little smaller than at the last measurement. The reason: when a parent waits
  // for an ended child, the child's time moves from the child's clock to the parent's time of ended children. The clock
  // counts nanoseconds, but the kernel rounds the time of ended children down to whole ticks. look() must never return
  // a smaller sum than before. If the sum is smaller, look() returns the sum of the last measurement again.
  look.cpu = last_cpu_ = std::max(look.cpu, last_cpu_);
  count_switches(look);
  return look;
}

void ServerProbe::count_switches(ServerLook& look) {
  std::unordered_map<int, ThreadStatus> now;
  for (Member& member : members_) {
    for (const auto& [thread, status] : read_thread_statuses(member.pid)) {
      now[thread] = status;
      member.forgets_children = status.ignores_children;
    }
  }
  const auto known = by_pid(members_);
  for (const Member& member : members_) {
    const auto parent = known.find(member.stat.parent);
    forgot_children_ |= parent != known.end() && parent->second->forgets_children;
  }
  look.forgets_children = forgot_children_;
  for (const auto& [thread, status] : threads_) {
    const auto found = now.find(thread);
    // The context switches of an ended thread are added to `lost_switches_`, so that these switches still count. A
    // thread has ended if its id is no longer found. A thread has also ended if its id now has a lower count than at
    // the last measurement. The counts of a thread never decrease, so such an id belongs to a new thread. A new thread
    // whose counts are not lower is not recognized, and the switches of the ended thread are lost.
    if (found != now.end() && found->second.voluntary_switches >= status.voluntary_switches &&
        found->second.involuntary_switches >= status.involuntary_switches) {
      continue;
    }
    lost_switches_.voluntary_switches += status.voluntary_switches;
    lost_switches_.involuntary_switches += status.involuntary_switches;
  }
  threads_ = std::move(now);
  look.voluntary_switches = lost_switches_.voluntary_switches;
  look.involuntary_switches = lost_switches_.involuntary_switches;
  for (const auto& [thread, status] : threads_) {
    look.voluntary_switches += status.voluntary_switches;
    look.involuntary_switches += status.involuntary_switches;
  }
}

}  // namespace peal::load
