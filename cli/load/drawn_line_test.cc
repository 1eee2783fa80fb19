// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/drawn_line.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <gtest/gtest.h>

#include <peal/base/fd.h>

namespace peal::cli {
namespace {

// Terminal makes stderr a pseudo-terminal with `columns` columns. Its destructor restores the old stderr.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : mine_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) {
    EXPECT_EQ(::grantpt(mine_.get()), 0);
    EXPECT_EQ(::unlockpt(mine_.get()), 0);
    const Fd theirs(::open(::ptsname(mine_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    resize(columns);
    EXPECT_EQ(::dup2(theirs.get(), STDERR_FILENO), STDERR_FILENO);
  }
  ~Terminal() { ::dup2(before_.get(), STDERR_FILENO); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void resize(unsigned short columns) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(mine_.get(), TIOCSWINSZ, &size), 0);
  }
  // Returns what was written to the terminal since the last call.
  std::string written() {
    std::array<char, 4096> room{};
    const ssize_t size = ::read(mine_.get(), room.data(), room.size());
    return {room.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  const Fd before_ = Fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  const Fd mine_;
};

TEST(DrawnLine, on_a_terminal_a_line_replaces_the_one_before_and_is_removed_at_the_end) {
  Terminal terminal(80);
  {
    DrawnLine line("auto");
    EXPECT_TRUE(line.shows());
    EXPECT_TRUE(line.over_itself());
    line.draw("one");
    EXPECT_EQ(terminal.written(), "\r\x1b[2Kone");
    line.draw("two");
    EXPECT_EQ(terminal.written(), "\r\x1b[2Ktwo");
    line.clear();
    EXPECT_EQ(terminal.written(), "\r\x1b[2K");
    line.clear();
    EXPECT_EQ(terminal.written(), "") << "the line was already removed";
    line.draw("three");
    EXPECT_EQ(terminal.written(), "\r\x1b[2Kthree");
  }
  EXPECT_EQ(terminal.written(), "\r\x1b[2K");
}

TEST(DrawnLine, its_width_follows_the_width_of_the_terminal) {
  Terminal terminal(80);
  const DrawnLine line("on");
  EXPECT_EQ(line.columns(), 79U) << "the last column stays free";
  terminal.resize(33);
  EXPECT_EQ(line.columns(), 32U);
  for (const unsigned short too_few : std::array<unsigned short, 2>{0, 19}) {
    terminal.resize(too_few);
    EXPECT_EQ(line.columns(), 100U);
  }
}

TEST(DrawnLine, off_prints_nothing_even_on_a_terminal) {
  Terminal terminal(80);
  {
    DrawnLine line("off");
    EXPECT_FALSE(line.shows());
    line.draw("one");
  }
  EXPECT_EQ(terminal.written(), "");
}

TEST(DrawnLine, without_a_terminal_on_prints_separate_lines_and_auto_prints_nothing) {
  testing::internal::CaptureStderr();
  {
    DrawnLine on("on");
    EXPECT_TRUE(on.shows());
    EXPECT_FALSE(on.over_itself());
    EXPECT_EQ(on.columns(), 100U);
    on.draw("one");
    on.draw("two");
    DrawnLine automatic("auto");
    EXPECT_FALSE(automatic.shows());
    automatic.draw("three");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "one\ntwo\n");
}

}  // namespace
}  // namespace peal::cli
