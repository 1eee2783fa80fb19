// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_live.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <cli/command.h>

namespace peal::cli {
namespace {

constexpr size_t kUsualColumns = 100;
constexpr size_t kFewestColumns = 20;

size_t columns_of_terminal() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < kFewestColumns) return kUsualColumns;
  // The last column stays free: some terminals go to the next line as soon as it is written.
  return size.ws_col - size_t{1};
}

}  // namespace

bool speaks_utf8() {
  // The first that is set decides (POSIX, 8.2).
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    for (const std::string_view charset : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.contains(charset)) return true;
    }
    return false;
  }
  return false;
}

LiveLine::LiveLine(const load::LoadOptions& options, const std::string& mode)
    : options_(options),
      terminal_(::isatty(STDERR_FILENO) == 1),
      shows_(mode == "on" || (mode == "auto" && terminal_)) {}

LiveLine::~LiveLine() { clear(); }

void LiveLine::clear() {
  if (drawn_) say(stderr, "\r\x1b[2K");
  drawn_ = false;
}

void LiveLine::show(const load::Interval& interval) {
  if (!shows_) return;
  view_.add(interval);
  if (terminal_) {
    say(stderr, fmt::format("\r\x1b[2K{}", view_.line(options_, columns_of_terminal(), speaks_utf8())));
    drawn_ = true;
  } else {
    say(stderr, fmt::format("{}\n", view_.line(options_, kUsualColumns, speaks_utf8())));
  }
}

}  // namespace peal::cli
