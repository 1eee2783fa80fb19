// SPDX-License-Identifier: BSD-3-Clause
// Shows times, dates, text, files and facts about the process, with the standard library, libc and zlib.
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <peal/base/clock.h>

namespace {

void times() {
  // Quoted in docs: [times]
  const auto now = std::chrono::system_clock::now();  // calendar time, which jumps when the clock is set
  fmt::print("{:%F %T} UTC\n", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
  const peal::TimePoint deadline = peal::monotonic_now() + std::chrono::milliseconds(500);  // this clock is never set
  fmt::print("{} ns to go\n", (deadline - peal::monotonic_now()).count());
  // End of quote: [times]
}

void dates() {
  // Quoted in docs: [dates]
  using namespace std::chrono;
  const year_month_day leap_day = 2024y / February / 29;
  const sys_days hundred_days_later = sys_days(leap_day) + days(100);
  fmt::print("day {} of the epoch, weekday {}\n", hundred_days_later.time_since_epoch().count(),
             weekday(hundred_days_later).c_encoding());
  // End of quote: [dates]
}

void zones() {
  // Quoted in docs: [zones]
  ::setenv("TZ", "Europe/Paris", 1);  // call setenv() before other threads exist, because it is not thread-safe
  ::tzset();
  fmt::print("{:%F %T %Z}\n", fmt::localtime(std::time(nullptr)));
  // End of quote: [zones]
}

// Quoted in docs: [text]
// Accepts any kind of string without a copy. The caller must keep the string until the function returns.
std::string shout(std::string_view text) { return fmt::format("{:*^{}}!", text, text.size() + 4); }
// End of quote: [text]

bool files(const std::string& folder) {
  // Quoted in docs: [files]
  std::ifstream file("/proc/self/status");
  const std::string status{std::istreambuf_iterator<char>(file), {}};
  const std::string name = folder + "/status.gz";
  gzFile packed = ::gzopen(name.c_str(), "wbe");
  if (packed == nullptr) return false;
  const bool written = ::gzwrite(packed, status.data(), static_cast<unsigned>(status.size())) > 0;
  const bool closed = ::gzclose(packed) == Z_OK;
  // End of quote: [files]
  std::filesystem::remove(name);
  return written && closed;
}

void process() {
  // Quoted in docs: [process]
  const auto fds = std::filesystem::directory_iterator("/proc/self/fd");
  fmt::print("process {} of {}, {} descriptors, {} CPUs\n", ::getpid(),
             std::filesystem::read_symlink("/proc/self/exe").filename().string(), std::distance(begin(fds), end(fds)),
             ::sysconf(_SC_NPROCESSORS_ONLN));
  // End of quote: [process]
}

}  // namespace

int main() {
  times();
  dates();
  zones();
  process();
  fmt::print("{}\n", shout("hello"));
  return files(std::filesystem::temp_directory_path()) ? 0 : 1;
}
