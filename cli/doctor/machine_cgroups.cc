// SPDX-License-Identifier: BSD-3-Clause
// The functions of MachineFiles that read control groups (cgroups). /proc/self/cgroup names this process's cgroup in
// each hierarchy: `0::/a/b` for v2, `4:memory:/a/b` for v1. The limits of all parent cgroups apply too.
//
// In a container, /proc/self/cgroup may contain a path of the host that does not exist in the container. Only the
// container's own cgroup is mounted, as the top folder. That folder is then read.
#include <cmath>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include <cli/doctor/machine_files.h>

namespace peal::cli {
namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup";
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// If a v1 cgroup has no limit, its file holds a huge number of about 2^63, which depends on the page size. Therefore
// every number from 2^60 on counts as "no limit".
constexpr uint64_t kLeastUnlimited = uint64_t{1} << 60;

bool names_controller(std::string_view controllers, std::string_view wanted) {
  return fmt::format(",{},", controllers).contains(fmt::format(",{},", wanted));
}

}  // namespace

std::vector<std::string> MachineFiles::group_folders(std::string_view controller, std::string_view file) const {
  std::istringstream groups(text("/proc/self/cgroup").value_or(""));
  std::vector<std::string> found;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool is_v2 = line.starts_with("0:") && controllers.empty();
    if (is_v2 ? !controller.empty() : !names_controller(controllers, controller)) continue;
    std::string mount(kMount);
    if (!is_v2) {
      mount += '/' + std::string(controller);
    } else if (exists(mount + "/unified")) {
      mount += "/unified";
    }
    std::string path = line.substr(second + 1);
    for (;;) {
      while (path.ends_with('/')) path.pop_back();
      std::string folder = mount;
      folder += path;
      if (exists(folder + '/' + std::string(file))) found.push_back(std::move(folder));
      if (path.empty()) break;
      path.resize(path.find_last_of('/') == path.npos ? 0 : path.find_last_of('/'));
    }
  }
  return found;
}

std::optional<GroupLimit> MachineFiles::cpu_quota() const {
  std::optional<GroupLimit> least;
  auto consider = [&least](double cpus, std::string path, bool is_v2) {
    if (!least || cpus < least->value) least = GroupLimit{cpus, std::move(path), is_v2};
  };
  // In v2, the file cpu.max of a cgroup holds the quota and the period. The top cgroup has no cpu.max, because it has
  // no quota. Every cgroup has the file cgroup.procs. The first loop therefore considers each folder with cgroup.procs
  // as a cgroup without a quota. So the result is infinity, and not empty, if no cgroup has a cpu.max.
  for (const std::string& folder : group_folders("", "cgroup.procs")) consider(kInfinite, folder + "/cpu.max", true);
  for (const std::string& folder : group_folders("", "cpu.max")) {
    const std::string all = text(folder + "/cpu.max").value_or("");
    const auto words = words_of(all);
    if (words.size() != 2) continue;
    const auto quota = parse_number(words[0]);
    const auto period = parse_number(words[1]);
    if (!quota || !period || *period == 0) continue;
    consider(*quota == kUnlimited ? kInfinite : static_cast<double>(*quota) / static_cast<double>(*period),
             folder + "/cpu.max", true);
  }
  for (const std::string& folder : group_folders("cpu", "cpu.cfs_quota_us")) {
    const auto quota = number(folder + "/cpu.cfs_quota_us");  // empty if the file holds -1, which means "no limit"
    const auto period = number(folder + "/cpu.cfs_period_us");
    const bool limits = quota && period && *period > 0;
    consider(limits ? static_cast<double>(*quota) / static_cast<double>(*period) : kInfinite,
             folder + "/cpu.cfs_quota_us", false);
  }
  return least;
}

std::optional<GroupLimit> MachineFiles::memory_limit() const {
  std::optional<GroupLimit> least;
  auto consider = [&least](std::optional<uint64_t> bytes, std::string path, bool is_v2) {
    if (!bytes) return;
    const double value = *bytes >= kLeastUnlimited ? kInfinite : static_cast<double>(*bytes);
    if (!least || value < least->value) least = GroupLimit{value, std::move(path), is_v2};
  };
  for (const std::string& folder : group_folders("", "cgroup.procs")) {
    consider(kUnlimited, folder + "/memory.max", true);
  }
  for (const std::string& folder : group_folders("", "memory.max")) {
    consider(number(folder + "/memory.max"), folder + "/memory.max", true);
  }
  for (const std::string& folder : group_folders("memory", "memory.limit_in_bytes")) {
    consider(number(folder + "/memory.limit_in_bytes"), folder + "/memory.limit_in_bytes", false);
  }
  return least;
}

}  // namespace peal::cli
