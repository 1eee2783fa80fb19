// SPDX-License-Identifier: BSD-3-Clause
#include <load/server_probe.h>

#include <algorithm>
#include <utility>

namespace peal::load {
namespace {

// A server whose children end all the time may move at each: then the last look stands, off by one of them.
constexpr int kMostLooks = 8;

template <class Member>
std::unordered_map<int, const Member*> by_pid(const std::vector<Member>& members) {
  std::unordered_map<int, const Member*> index;
  for (const Member& member : members) index[member.pid] = &member;
  return index;
}

}  // namespace

Result<ServerProbe> ServerProbe::of(int pid) {
  // To the clocks pid 0 is the caller.
  if (pid <= 0) return fail(ESRCH);
  if (const Result<clockid_t> clock = cpu_clock_of(pid); !clock) return std::unexpected(clock.error());
  const Result<ProcessStat> stat = read_process_stat(pid);
  if (!stat) return std::unexpected(stat.error());
  ServerProbe probe(pid, stat->started);
  // Whom it knows from the beginning it cannot lose.
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
  // Those seen before whose parents are gone, or whom the kernel left out.
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

// Adds `top` and its descendants, parents before their children.
Result<void> ServerProbe::list_below(const Member& top, const ChildFinder& finder, std::vector<Member>& tree,
                                     std::unordered_set<int>& listed) {
  size_t next = tree.size();
  tree.push_back(top);
  listed.insert(top.pid);
  for (; next < tree.size(); ++next) {
    for (const int child : finder.children_of(tree[next].pid)) {
      const Result<ProcessStat> stat = read_process_stat(child);
      if (!stat && stat.error() != errno_code(ESRCH)) return std::unexpected(stat.error());
      // Since it was found it may have ended, and its pid may be somebody else's by now.
      if (!stat || stat->parent != tree[next].pid || !listed.insert(child).second) continue;
      tree.push_back({.pid = child, .stat = *stat});
    }
  }
  return {};
}

// False when somebody was waited for meanwhile. Who reads parents before children, and then still finds all children,
// has not seen any of them in a parent's sum. Those who are gone are taken out of `tree`.
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

// What was seen of processes that are gone and whose CPU time no parent has taken over.
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
    // Up to an ancestor that lives; those between were waited for as well.
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
  // The ticks of a worker that has ended may be a little less than its clock was.
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
    // Who has switched less often than before is another thread of the same number.
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
