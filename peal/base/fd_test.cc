// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/fd.h>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

namespace peal {
namespace {

int new_fd() { return ::eventfd(0, EFD_CLOEXEC); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, none_is_owned_until_one_is_given) {
  Fd fd;
  EXPECT_FALSE(fd);
  EXPECT_EQ(fd.get(), -1);
  fd.reset();
  fd.reset(new_fd());
  EXPECT_TRUE(fd);
}

TEST(Fd, destruction_closes) {
  int raw;
  {
    const Fd fd(new_fd());
    raw = fd.get();
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(Fd, a_move_leaves_nothing_behind) {
  Fd from(new_fd());
  const int raw = from.get();
  Fd to(std::move(from));
  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(to.get(), raw);
  EXPECT_TRUE(is_open(raw));
}

TEST(Fd, move_assignment_closes_what_was_owned) {
  Fd to(new_fd()), from(new_fd());
  const int old = to.get(), raw = from.get();
  to = std::move(from);
  EXPECT_EQ(to.get(), raw);
  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(raw));
}

TEST(Fd, assignment_to_itself_keeps_it_open) {
  Fd fd(new_fd());
  Fd& same = fd;
  fd = std::move(same);
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(Fd, release_gives_away_without_closing) {
  Fd fd(new_fd());
  const int raw = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(raw));
  EXPECT_EQ(::close(raw), 0);
}

TEST(Fd, closing_keeps_errno) {
  Fd fd(new_fd());
  errno = ECONNRESET;
  fd.reset();
  EXPECT_EQ(errno, ECONNRESET);
}

TEST(FdDeath, closed_behind_its_back_asserts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Fd fd(new_fd());
        ::close(fd.get());
        fd.reset();
      },
      "was closed by someone who did not own it");
}

TEST(FdDeath, being_given_what_it_owns_asserts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Fd fd(new_fd());
  EXPECT_DEATH(fd.reset(fd.get()), "already owned by this Fd");
}

TEST(WriteWhole, all_is_written_or_errno_says_why_not) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  EXPECT_TRUE(write_whole(writer.get(), "hello"));
  std::array<char, 8> bytes{};
  EXPECT_EQ(::read(reader.get(), bytes.data(), bytes.size()), 5);
  EXPECT_STREQ(bytes.data(), "hello");
  EXPECT_FALSE(write_whole(reader.get(), "hello"));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace peal
