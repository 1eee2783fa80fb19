// SPDX-License-Identifier: BSD-3-Clause
#include <cli/output_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <tests/support/files/temporary_folder.h>

namespace peal::cli {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  std::string text() const { return folder_.read("out"); }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.path("out");
};

TEST_F(OutputFileTest, a_new_one_is_there_once_it_is_written) {
  {
    OutputFile file;
    EXPECT_EQ(file.open(path_), "");
  }
  EXPECT_FALSE(std::filesystem::exists(path_)) << "nothing was written";
  OutputFile file;
  EXPECT_EQ(file.open(path_), "");
  EXPECT_TRUE(file.write("a"));
  EXPECT_TRUE(file.write("b"));
  EXPECT_EQ(text(), "ab");
}

TEST_F(OutputFileTest, an_old_one_keeps_what_it_has_until_then) {
  std::ofstream(path_) << "what was there";
  {
    OutputFile file;
    EXPECT_EQ(file.open(path_), "");
  }
  EXPECT_EQ(text(), "what was there");
  OutputFile file;
  EXPECT_EQ(file.open(path_), "");
  EXPECT_TRUE(file.write("new"));
  EXPECT_EQ(text(), "new");
}

TEST_F(OutputFileTest, what_cannot_be_written) {
  EXPECT_EQ(OutputFile().open("/nowhere/at/all"), "/nowhere/at/all cannot be written");
  EXPECT_EQ(OutputFile().open("/"), "/ cannot be written");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(OutputFile().open(path_), path_ + " cannot be written: it is a FIFO that nobody reads, or a socket");
}

// A command once opened a FIFO to check it, closed it, and opened it again to write. When it was closed, the reader saw
// the end of the file and left. The second open() then waited for a new reader forever.
TEST_F(OutputFileTest, reader_of_a_fifo_waits_for_what_is_written) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const Fd reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  OutputFile file;
  EXPECT_EQ(file.open(path_), "");
  std::array<char, 8> bytes{};
  EXPECT_EQ(::read(reader.get(), bytes.data(), bytes.size()), -1) << "0 would be the end";
  EXPECT_TRUE(file.write("figures"));
  ASSERT_EQ(::read(reader.get(), bytes.data(), bytes.size()), 7);
  EXPECT_EQ(std::string(bytes.data(), 7), "figures");
}

TEST_F(OutputFileTest, a_full_disk) {
  OutputFile file;
  EXPECT_EQ(file.open("/dev/full"), "");
  EXPECT_FALSE(file.write("x"));
}

TEST_F(OutputFileTest, none_is_wanted) {
  OutputFile file;
  EXPECT_EQ(file.open(""), "");
  EXPECT_FALSE(file.is_wanted());
  EXPECT_TRUE(file.write("x"));
}

}  // namespace
}  // namespace peal::cli
