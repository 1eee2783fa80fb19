// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/drawn_line.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cli/command.h>

namespace peal::cli {
namespace {

constexpr size_t kUsualColumns = 100;
constexpr size_t kFewestColumns = 20;

}  // namespace

DrawnLine::DrawnLine(const std::string& mode)
    : terminal_(::isatty(STDERR_FILENO) == 1), shows_(mode == "on" || (mode == "auto" && terminal_)) {}

DrawnLine::~DrawnLine() { clear(); }

size_t DrawnLine::columns() const {
  winsize size{};
  if (!terminal_ || ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < kFewestColumns) {
    return kUsualColumns;
  }
  // Leaves the last column free, because some terminals begin a new line as soon as the last column is written. draw()
  // could then no longer replace the old line, because \r only moves the cursor within the new line.
  return size.ws_col - size_t{1};
}

void DrawnLine::draw(const std::string& line) {
  if (!shows_) return;
  say(stderr, terminal_ ? fmt::format("\r\x1b[2K{}", line) : line + "\n");
  drawn_ = terminal_;
}

void DrawnLine::clear() {
  if (drawn_) say(stderr, "\r\x1b[2K");
  drawn_ = false;
}

}  // namespace peal::cli
