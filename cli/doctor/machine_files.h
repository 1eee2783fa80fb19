// SPDX-License-Identifier: BSD-3-Clause
// What the files under /proc and /sys say. All are read below a root folder, so that a test may make up a machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peal::cli {

// How long the CPUs were in which state since boot, in ticks, over all of them: the first line of /proc/stat.
struct CpuTimes {
  uint64_t busy = 0;    // user, system, interrupts
  uint64_t idle = 0;    // waiting for a disk too
  uint64_t stolen = 0;  // ready to run, but the hypervisor ran somebody else
  uint64_t total() const { return busy + idle + stolen; }
};

// A limit of this process's cgroup or of one above it, and the file that sets it.
struct GroupLimit {
  double value = 0;
  std::string path;  // without the root
  bool is_v2 = false;
};

class MachineFiles {
 public:
  explicit MachineFiles(std::string root) : root_(std::move(root)) {}

  // The file's text without the white space at its ends; nothing when it cannot be read.
  std::optional<std::string> text(std::string_view path) const;
  // Its first word as a number; "max" and "unlimited" are the greatest there is.
  std::optional<uint64_t> number(std::string_view path) const;
  // A list of CPUs or ports such as 0-3,8.
  std::optional<std::vector<uint32_t>> list(std::string_view path) const;
  bool exists(std::string_view path) const;
  // Names of what stands in a folder, sorted; empty when there is none.
  std::vector<std::string> names(std::string_view folder) const;

  std::optional<CpuTimes> cpu_times() const;
  // The rest of the first line of `path` that starts with `key`, without the white space around it.
  std::optional<std::string> line_after(std::string_view path, std::string_view key) const;

  // The tightest limit of this process's cgroups, v1 or v2: CPUs' worth of time, and bytes. Nothing when no cgroup can
  // be read; a value of infinity when none limits.
  std::optional<GroupLimit> cpu_quota() const;
  std::optional<GroupLimit> memory_limit() const;

 private:
  // Every folder of this process's cgroup in which `file` stands, the nearest first.
  std::vector<std::string> group_folders(std::string_view controller, std::string_view file) const;

  const std::string root_;
};

constexpr uint64_t kUnlimited = UINT64_MAX;

std::vector<std::string_view> words_of(std::string_view text);
bool has_word(std::span<const std::string_view> words, std::string_view wanted);
std::optional<uint64_t> parse_number(std::string_view text);
std::optional<std::vector<uint32_t>> parse_list(std::string_view text);

}  // namespace peal::cli
