// SPDX-License-Identifier: BSD-3-Clause
#include <cli/access_log_file.h>

#include <sys/resource.h>

#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

// Files of this process may have so many bytes, which is as if the disk were full.
class RoomOnDisk {
 public:
  explicit RoomOnDisk(rlim_t bytes) : before_signal_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit room{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &room);
  }
  ~RoomOnDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_signal_);
  }
  RoomOnDisk(const RoomOnDisk&) = delete;
  RoomOnDisk& operator=(const RoomOnDisk&) = delete;

 private:
  rlimit before_{};
  const sighandler_t before_signal_;
};

TEST(AccessLogFileTest, a_line_for_which_a_full_disk_had_half_the_room_stands_alone) {
  const TemporaryFolder folder;
  const auto log = AccessLogFile::open(folder.file("log"));
  ASSERT_TRUE(log);
  {
    const RoomOnDisk room(15);
    (*log)->write("line one\nline two\nline three\n");
    (*log)->write("dropped\n");
  }
  (*log)->write("line four\n");
  (*log)->write("line five\n");
  EXPECT_EQ(folder.text("log"), "line one\nline t\nline four\nline five\n");
}

TEST(AccessLogFileTest, a_full_disk_that_had_room_for_whole_lines) {
  const TemporaryFolder folder;
  const auto log = AccessLogFile::open(folder.file("log"));
  ASSERT_TRUE(log);
  {
    const RoomOnDisk room(9);
    (*log)->write("line one\nline two\n");
  }
  (*log)->write("line three\n");
  EXPECT_EQ(folder.text("log"), "line one\nline three\n");
}

}  // namespace
}  // namespace peal::cli
