// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/forms/saved_file.h>

#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <tests/support/files/temporary_folder.h>

namespace peal {
namespace {

// With O_TMPFILE and without.
class SavedFileTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  SavedFile create() { return SavedFile::create(folder_, GetParam()).value(); }
  size_t names() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }

  const test::TemporaryFolder around_;
  const std::string folder_ = around_.path("files");
};

TEST_P(SavedFileTest, what_nobody_keeps_is_gone) {
  {
    SavedFile file = create();
    EXPECT_TRUE(file.append("some bytes"));
    EXPECT_EQ(names(), GetParam() ? 0U : 1U);
    SavedFile moved = std::move(file);
    SavedFile other = create();
    other = std::move(moved);
    EXPECT_EQ(other.bytes(), 10U);
  }
  EXPECT_EQ(names(), 0U);
}

TEST_P(SavedFileTest, kept_it_has_a_name_and_one_owner) {
  std::string path;
  {
    SavedFile file = create();
    EXPECT_TRUE(file.append("some "));
    EXPECT_TRUE(file.append("bytes"));
    EXPECT_TRUE(file.append(""));
    EXPECT_TRUE(file.sync());
    path = file.keep_as("a.txt").value();
  }
  EXPECT_EQ(path, folder_ + "/a.txt");
  EXPECT_EQ(test::read_file(path), "some bytes");
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(names(), 1U);
}

TEST_P(SavedFileTest, a_name_that_is_taken_is_not_taken_away) {
  SavedFile first = create();
  ASSERT_TRUE(first.append("first"));
  ASSERT_TRUE(first.keep_as("a"));
  {
    SavedFile second = create();
    EXPECT_EQ(second.keep_as("a").error(), errno_code(EEXIST));
    const std::string path = second.keep().value();
    EXPECT_EQ(path.size(), folder_.size() + 1 + 32);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_EQ(test::read_file(folder_ + "/a"), "first");
  EXPECT_EQ(names(), 2U);
}

TEST_P(SavedFileTest, a_name_stays_in_its_folder) {
  SavedFile file = create();
  const std::string_view names[] = {"", ".", "..", "/etc/x", "../x", "a/b", std::string_view("a\0b", 3)};
  for (const std::string_view name : names) EXPECT_THROW(file.keep_as(name), std::invalid_argument) << name;
}

TEST_P(SavedFileTest, a_folder_that_is_none_is_an_error) {
  EXPECT_EQ(SavedFile::create(folder_ + "/none", GetParam()).error(), errno_code(ENOENT));
  EXPECT_EQ(SavedFile::create("/dev/null", GetParam()).error(), errno_code(ENOTDIR));
}

INSTANTIATE_TEST_SUITE_P(with_and_without_a_name, SavedFileTest, testing::Bool());

}  // namespace
}  // namespace peal
