// SPDX-License-Identifier: BSD-3-Clause
#include <load/process_files.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <peal/base/fd.h>
#include <peal/base/read_whole.h>

namespace peal::load {
namespace {

constexpr size_t kMostBytes = 64 << 20;  // limit for the size of a file under /proc; none is that large
constexpr size_t kStatFields = 22;       // fields 3 to 24 of /proc/PID/stat, numbered as in proc(5)

Result<std::string> read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(errno);
  return read_whole(file.get(), kMostBytes);
}

std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

// Returns the number in `word`, or 0 if `word` is not a number. An invalid number is not reported, because the kernel
// writes only valid ones.
template <class Number>
Number number_in(std::string_view word, int base = 10) {
  Number number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number, base);
  return number;
}

// Returns the first word after `key` in `text`, or an empty word if `key` is not found. `key` must begin with a
// newline, for example "\nSigIgn:", so that it is found only at the beginning of a line.
std::string_view value_of(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == text.npos) return {};
  text.remove_prefix(at + key.size());
  return next_word(text);
}

// Calls `use` with each positive number that is the name of an entry of the directory `folder`. For example, the names
// in /proc that are numbers are pids.
template <class Use>
void for_each_id(const std::string& folder, Use use) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (const int id = number_in<int>(entry->path().filename().native()); id > 0) use(id);
  }
}

}  // namespace

Result<clockid_t> cpu_clock_of(int pid) {
  clockid_t clock{};
  if (const int error = ::clock_getcpuclockid(pid, &clock); error != 0) return fail(error);
  return clock;
}

std::optional<Duration> cpu_time(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Result<ProcessStat> read_process_stat(int pid) {
  const Result<std::string> text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) {
    const bool out_of_fds = text.error() == errno_code(EMFILE) || text.error() == errno_code(ENFILE);
    if (out_of_fds) return std::unexpected(text.error());
    // The file could not be opened. If the process still has a CPU clock, the process exists, and its files are hidden
    // by the mount option hidepid of /proc.
    return fail(cpu_clock_of(pid) ? EACCES : ESRCH);
  }
  // The text is "PID (NAME) STATE PARENT ...". NAME may contain blanks and parentheses, so it ends at the last ')' of
  // the text.
  std::string_view left = *text;
  left.remove_prefix(std::min(left.rfind(')'), left.size() - 1) + 1);
  std::array<std::string_view, kStatFields> words;
  for (std::string_view& word : words) word = next_word(left);
  const auto field = [&words](size_t number) { return words[number - 3]; };  // fields are numbered as in proc(5)
  const int64_t ticks = number_in<int64_t>(field(16)) + number_in<int64_t>(field(17));
  return ProcessStat{.parent = number_in<int>(field(4)),
                     .alive = field(3) != "Z" && field(3) != "X",
                     .started = number_in<uint64_t>(field(22)),
                     .children_cpu = std::chrono::nanoseconds(std::chrono::seconds(ticks)) / ::sysconf(_SC_CLK_TCK),
                     .resident_bytes = number_in<uint64_t>(field(24)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))};
}

bool has_in_environment(int pid, std::string_view word) {
  const Result<std::string> text = read_file(fmt::format("/proc/{}/environ", pid));
  if (!text) return false;
  for (std::string_view left = *text; !left.empty();) {
    const size_t end = std::min(left.find('\0'), left.size());
    if (left.substr(0, end) == word) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

std::unordered_map<int, ThreadStatus> read_thread_statuses(int pid) {
  std::unordered_map<int, ThreadStatus> threads;
  const std::string folder = fmt::format("/proc/{}/task", pid);
  for_each_id(folder, [&](int thread) {
    const Result<std::string> text = read_file(fmt::format("{}/{}/status", folder, thread));
    if (!text) return;
    const auto ignored = number_in<uint64_t>(value_of(*text, "\nSigIgn:"), 16);
    threads[thread] = {.voluntary_switches = number_in<uint64_t>(value_of(*text, "\nvoluntary_ctxt_switches:")),
                       .involuntary_switches = number_in<uint64_t>(value_of(*text, "\nnonvoluntary_ctxt_switches:")),
                       .ignores_children = (ignored >> (SIGCHLD - 1) & 1) != 0};
  });
  return threads;
}

ChildFinder::Way ChildFinder::best_way() {
  static const bool has_files = ::access("/proc/thread-self/children", F_OK) == 0;
  return has_files ? Way::kFiles : Way::kScan;
}

ChildFinder::ChildFinder(Way way) : way_(way) {
  if (way != Way::kScan) return;
  for_each_id("/proc", [this](int pid) {
    if (const Result<ProcessStat> stat = read_process_stat(pid)) children_.emplace(stat->parent, pid);
  });
}

std::vector<int> ChildFinder::children_of(int pid) const {
  std::vector<int> children;
  if (way_ == Way::kScan) {
    const auto [first, last] = children_.equal_range(pid);
    for (auto child = first; child != last; ++child) children.push_back(child->second);
    return children;
  }
  const std::string folder = fmt::format("/proc/{}/task", pid);
  for_each_id(folder, [&](int thread) {
    const Result<std::string> text = read_file(fmt::format("{}/{}/children", folder, thread));
    if (!text) return;
    std::string_view left = *text;
    for (std::string_view word = next_word(left); !word.empty(); word = next_word(left)) {
      children.push_back(number_in<int>(word));
    }
  });
  return children;
}

}  // namespace peal::load
