// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/process_facts.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include <peal/base/fd.h>

namespace peal {
namespace {

uint64_t number(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The name and the fields after it in a "stat" file. The name is in parentheses and may contain spaces and parentheses,
// so it ends at the last ')'. fields[0] is the state, which is field 3 in proc(5).
struct StatFields {
  explicit StatFields(std::string_view text) {
    const size_t open = text.find('(');
    const size_t close = text.rfind(')');
    if (open == text.npos || close == text.npos) return;
    name = text.substr(open + 1, close - open - 1);
    text.remove_prefix(std::min(close + 2, text.size()));
    for (std::string_view& field : fields) {
      const size_t end = std::min(text.find(' '), text.size());
      field = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  // Returns a field as a number. `index` is the field's number in proc(5), at least 3.
  uint64_t at(size_t index) const { return number(fields.at(index - 3)); }

  std::string_view name;
  std::array<std::string_view, 50> fields;
};

std::string state_name(std::string_view letter) {
  switch (letter.empty() ? '?' : letter.front()) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "waiting for a disk";
    case 'Z': return "zombie";
    case 'T':
    case 't': return "stopped";
    case 'I': return "idle";
    default: return std::string(letter);
  }
}

Duration ticks(uint64_t count) {
  static const auto per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return Duration(count * (1'000'000'000 / per_second));
}

// Returns the value of a line "key:   value kB" in a "status" file; 0 if there is none.
uint64_t status_value(std::string_view status, std::string_view key) {
  const size_t at = status.find(key);
  if (at == status.npos) return 0;
  const size_t digits = status.find_first_of("0123456789", at + key.size());
  return digits == status.npos ? 0 : number(status.substr(digits));
}

std::chrono::system_clock::time_point boot_time() {
  static const auto boot = [] {
    const std::string stat = read_small_file("/proc/stat").value_or(std::string());
    return std::chrono::system_clock::time_point(std::chrono::seconds(status_value(stat, "btime")));
  }();
  return boot;
}

// Returns the number of entries of /proc/PID/fd. Since Linux 6.2 that is the size of the folder. Older kernels say 0,
// and all entries have to be read.
std::optional<uint32_t> count_fds(const std::string& folder) {
  struct ::stat size{};
  if (::stat(folder.c_str(), &size) == 0 && size.st_size > 0) return static_cast<uint32_t>(size.st_size);
  std::error_code error;
  uint32_t count = 0;
  for (auto each = std::filesystem::directory_iterator(folder, error); each != std::filesystem::directory_iterator();
       each.increment(error)) {
    ++count;
  }
  if (error) return std::nullopt;
  return count;
}

std::optional<uint64_t> most_fds(const std::string& limits) {
  const size_t at = limits.find("Max open files");
  if (at == limits.npos) return std::nullopt;
  const size_t value = limits.find_first_not_of(' ', at + std::string_view("Max open files").size());
  if (value == limits.npos || limits[value] == 'u') return std::nullopt;
  return number(std::string_view(limits).substr(value));
}

std::error_code as_no_such_process(std::error_code error) {
  return error == std::errc::no_such_file_or_directory ? errno_code(ESRCH) : error;
}

}  // namespace

Result<std::string> read_small_file(const std::string& path, size_t most_bytes) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(errno);
  std::string text;
  std::array<char, 4096> piece;
  while (text.size() < most_bytes) {
    const ssize_t got = ::read(file.get(), piece.data(), std::min(piece.size(), most_bytes - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno);
    if (got == 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return text;
}

Result<ProcessFacts> read_process_facts(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}/", pid);
  const Result<std::string> text = read_small_file(folder + "stat");
  if (!text) return std::unexpected(as_no_such_process(text.error()));
  const StatFields stat(*text);
  ProcessFacts facts{.pid = pid, .parent = static_cast<pid_t>(stat.at(4))};
  facts.name = stat.name;
  facts.command = read_small_file(folder + "cmdline", 4096).value_or(std::string());
  while (facts.command.ends_with('\0')) facts.command.pop_back();
  std::ranges::replace(facts.command, '\0', ' ');
  facts.state = state_name(stat.fields[0]);
  facts.minor_faults = stat.at(10);
  facts.major_faults = stat.at(12);
  facts.user_cpu = ticks(stat.at(14));
  facts.system_cpu = ticks(stat.at(15));
  facts.threads = static_cast<uint32_t>(stat.at(20));
  facts.started = boot_time() + std::chrono::duration_cast<std::chrono::system_clock::duration>(ticks(stat.at(22)));
  facts.virtual_bytes = stat.at(23);
  facts.resident_bytes = stat.at(24) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::string status = read_small_file(folder + "status").value_or(std::string());
  facts.peak_resident_bytes = status_value(status, "VmHWM:") * 1024;
  facts.open_fds = count_fds(folder + "fd");
  facts.most_fds = most_fds(read_small_file(folder + "limits").value_or(std::string()));
  return facts;
}

Result<std::vector<ThreadFacts>> read_thread_facts(pid_t pid) {
  std::error_code error;
  std::vector<ThreadFacts> threads;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  for (auto each = std::filesystem::directory_iterator(tasks, error); each != std::filesystem::directory_iterator();
       each.increment(error)) {
    const std::string folder = each->path().string() + '/';
    const Result<std::string> text = read_small_file(folder + "stat");
    if (!text) continue;  // the thread has ended meanwhile
    const StatFields stat(*text);
    const std::string status = read_small_file(folder + "status").value_or(std::string());
    const std::string schedule = read_small_file(folder + "schedstat").value_or(std::string());
    const size_t space = schedule.find(' ');
    threads.push_back({.id = static_cast<pid_t>(number(each->path().filename().string())),
                       .name = std::string(stat.name),
                       .state = state_name(stat.fields[0]),
                       .user_cpu = ticks(stat.at(14)),
                       .system_cpu = ticks(stat.at(15)),
                       .kept_waiting = Duration(space == schedule.npos ? 0 : number(schedule.substr(space + 1))),
                       .voluntary_switches = status_value(status, "\nvoluntary_ctxt_switches:"),
                       .involuntary_switches = status_value(status, "nonvoluntary_ctxt_switches:"),
                       .processor = static_cast<int>(stat.at(39))});
  }
  if (error) return std::unexpected(as_no_such_process(error));
  std::ranges::sort(threads, {}, &ThreadFacts::id);
  return threads;
}

}  // namespace peal
