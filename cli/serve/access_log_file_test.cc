// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/access_log_file.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <tests/support/files/room_on_disk.h>
#include <tests/support/files/temporary_folder.h>

namespace peal::cli {
namespace {

class AccessLogFileTest : public testing::Test {
 protected:
  std::string logged() const { return folder_.read("log"); }

  const test::TemporaryFolder folder_;
  const std::shared_ptr<AccessLogFile> log_ = AccessLogFile::open(folder_.path("log")).value();
};

TEST_F(AccessLogFileTest, a_line_that_a_full_disk_has_cut_gets_a_newline_before_the_next_line) {
  {
    const test::RoomOnDisk room(15);
    log_->write("line one\nline two\nline three\n");
    log_->write("dropped\n");
  }
  log_->write("line four\n");
  log_->write("line five\n");
  EXPECT_EQ(logged(), "line one\nline t\nline four\nline five\n");
}

TEST_F(AccessLogFileTest, a_disk_that_is_full_after_a_whole_line_drops_the_others) {
  {
    const test::RoomOnDisk room(9);
    log_->write("line one\nline two\n");
  }
  log_->write("line three\n");
  EXPECT_EQ(logged(), "line one\nline three\n");
}

}  // namespace
}  // namespace peal::cli
