// SPDX-License-Identifier: BSD-3-Clause
// MachineFiles reads the files under /proc and /sys. All paths are taken below a root folder, so that a test can use
// its own files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peal::cli {

// The time that all CPUs together have spent in each of three states since boot, in ticks. The numbers come from the
// first line of /proc/stat.
struct CpuTimes {
  uint64_t busy = 0;    // ran programs, the kernel or interrupts
  uint64_t idle = 0;    // had nothing to do, or waited for a disk
  uint64_t stolen = 0;  // could have run, but the hypervisor let another machine run
  uint64_t total() const { return busy + idle + stolen; }
};

// A limit that is set by this process's cgroup or by one of its parent cgroups.
struct GroupLimit {
  double value = 0;
  std::string path;  // the file that holds the limit, without MachineFiles' root folder
  bool is_v2 = false;
};

class MachineFiles {
 public:
  explicit MachineFiles(std::string root) : root_(std::move(root)) {}

  // Returns the content of a file without white space at its start and end. Returns nothing if the file cannot be read.
  std::optional<std::string> text(std::string_view path) const;
  // Returns the first word of a file as a number. The words "max" and "unlimited" count as kUnlimited, the largest
  // uint64_t. Returns nothing if the file cannot be read, or if its first word is no number.
  std::optional<uint64_t> number(std::string_view path) const;
  // Returns the numbers in a file that holds a list. The kernel writes sets of CPUs and sets of ports as such lists.
  // The list "0-1,8" holds the numbers 0, 1 and 8. Returns nothing if the file cannot be read, or if its text is no
  // list of numbers below 65536.
  std::optional<std::vector<uint32_t>> list(std::string_view path) const;
  bool exists(std::string_view path) const;
  // Returns the sorted names of all entries of a folder. The result is empty if there is no such folder.
  std::vector<std::string> names(std::string_view folder) const;

  std::optional<CpuTimes> cpu_times() const;
  // Finds the first line of a file that starts with `key`. Returns the rest of that line, without white space around
  // it. Returns nothing if there is no such line or no such file.
  std::optional<std::string> line_after(std::string_view path, std::string_view key) const;

  // Returns the smallest CPU quota, in CPUs, among this process's cgroup and its parent cgroups (v1 or v2). The value
  // is infinity if none of them has a quota. Returns nothing if no cgroup can be read.
  std::optional<GroupLimit> cpu_quota() const;
  // Returns the smallest memory limit, in bytes, among this process's cgroup and its parent cgroups (v1 or v2). The
  // value is infinity if none of them has a limit. Returns nothing if no cgroup can be read.
  std::optional<GroupLimit> memory_limit() const;

 private:
  // Finds the folders of this process's cgroup and of its parent cgroups. Returns the folders in which the file `file`
  // exists. The folder of the process's own cgroup comes first. `controller` selects the version of the cgroups: an
  // empty text means v2, and the name of a v1 controller, such as "memory", means v1.
  std::vector<std::string> group_folders(std::string_view controller, std::string_view file) const;

  const std::string root_;
};

constexpr uint64_t kUnlimited = UINT64_MAX;

std::vector<std::string_view> words_of(std::string_view text);
bool has_word(std::span<const std::string_view> words, std::string_view wanted);
std::optional<uint64_t> parse_number(std::string_view text);
std::optional<std::vector<uint32_t>> parse_list(std::string_view text);

}  // namespace peal::cli
