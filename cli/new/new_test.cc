// SPDX-License-Identifier: BSD-3-Clause
// Tests the output, the messages and the exit codes of `peal new`, and what it leaves on the disk.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cli/new/write_project.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;

Answer new_project(std::vector<std::string> words) { return call_command("new", add_new, std::move(words)); }

void expect_new_refused(int code, std::vector<std::string> words, std::string_view sentence) {
  expect_refused(new_project(std::move(words)), code, sentence);
}

size_t files_in(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) count += entry.is_regular_file();
  return count;
}

TEST(NewCommand, writes_a_project_and_says_what_to_type_next) {
  const test::TemporaryFolder folder;
  const Answer answer = new_project({folder.path("chat-server"), "--tcp"});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  const std::vector<ProjectFile> files = project_files("tcp", "chat-server");
  EXPECT_THAT(answer.out, HasSubstr("wrote " + std::to_string(files.size()) + " files into "));
  EXPECT_THAT(answer.out, HasSubstr("  cd " + folder.path("chat-server") + "\n  cmake -B build"));
  EXPECT_THAT(answer.out, HasSubstr("\n  cmake --build build -j\n  ctest --test-dir build\n"));
  EXPECT_THAT(answer.out, HasSubstr("\n  build/chat_server\n"));
  EXPECT_EQ(files_in(folder.path("chat-server")), files.size());
  for (const ProjectFile& file : files) EXPECT_EQ(folder.read("chat-server/" + file.path), file.text) << file.path;
}

TEST(NewCommand, the_kind_is_http_if_none_is_given) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(new_project({folder.path("plain/chat")}).exit_code, kDone);
  ASSERT_EQ(new_project({folder.path("asked/chat"), "--http"}).exit_code, kDone);
  ASSERT_EQ(new_project({folder.path("other/chat"), "--rpc"}).exit_code, kDone);
  EXPECT_EQ(folder.read("plain/chat/service.h"), folder.read("asked/chat/service.h"));
  EXPECT_NE(folder.read("plain/chat/service.h"), folder.read("other/chat/service.h"));
}

TEST(NewCommand, makes_the_folders_above_and_takes_an_empty_folder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("empty"));
  EXPECT_EQ(new_project({folder.path("empty")}).exit_code, kDone);
  EXPECT_EQ(new_project({folder.path("a b/it's/deep/")}).exit_code, kDone);
  EXPECT_THAT(folder.read("a b/it's/deep/CMakeLists.txt"), HasSubstr("project(deep "));
}

TEST(NewCommand, a_path_with_blanks_is_quoted_for_the_shell) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(new_project({folder.path("it's a/deep")}).out,
              HasSubstr(R"(  cd ')" + folder.path(R"(it'\''s a/deep')")));
}

TEST(NewCommand, a_wrong_command_line_gets_one_sentence) {
  expect_new_refused(kCalledWrongly, {}, "NAME is required");
  expect_new_refused(kCalledWrongly, {""}, "may not be empty");
  expect_new_refused(kCalledWrongly, {"Chat"}, "'Chat' cannot be the name of a project");
  expect_new_refused(kCalledWrongly, {"work/.."}, "'..' cannot be the name of a project");
  expect_new_refused(kCalledWrongly, {"/"}, "cannot be the name of a project");
  expect_new_refused(kCalledWrongly, {"a\nb"}, "cannot be the name of a project");
  expect_new_refused(kCalledWrongly, {"test"}, "has a target of that name");
  expect_new_refused(kCalledWrongly, {"chat", "--tcp", "--http"}, "give one of --tcp, --http and --rpc");
  expect_new_refused(kCalledWrongly, {"chat", "--tcp", "--http", "--rpc"}, "a project has one kind");
  expect_new_refused(kCalledWrongly, {"chat", "--udp"}, "--udp");
}

TEST(NewCommand, a_place_that_is_taken_is_left_as_it_is) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(new_project({folder.path("chat")}).exit_code, kDone);
  const size_t before = files_in(folder.path("."));
  expect_new_refused(kFailed, {folder.path("chat")}, "is there already and is not empty");
  folder.write("file", "content");
  expect_new_refused(kFailed, {folder.path("file")}, "is there already and is no folder");
  std::filesystem::create_symlink("nowhere", folder.path("link"));
  expect_new_refused(kFailed, {folder.path("link")}, "link");
  EXPECT_EQ(files_in(folder.path(".")), before + 1);
}

TEST(NewCommand, a_folder_that_cannot_be_made_is_a_failure) {
  const test::TemporaryFolder folder;
  folder.write("file", "content");
  expect_new_refused(kFailed, {folder.path("file/chat")}, "Not a directory");
  expect_new_refused(kFailed, {"/proc/chat"}, "/proc/chat");
}

// Limits the size of files that this process may write, so that write(2) fails with EFBIG as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(NewCommand, a_disk_that_fails_half_way_leaves_nothing) {
  const test::TemporaryFolder folder;
  std::string trouble;
  {
    const SmallFiles limited(1000);
    trouble = write_project(folder.path("a/b/chat"), project_files("tcp", "chat"));
  }
  EXPECT_THAT(trouble, HasSubstr("Dockerfile cannot be written: File too large; nothing is left"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path(".")));
}

TEST(NewCommand, a_disk_that_fails_half_way_leaves_the_folder_that_was_there) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("chat"));
  {
    const SmallFiles limited(1000);
    EXPECT_NE(write_project(folder.path("chat"), project_files("tcp", "chat")), "");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("chat")));
}

}  // namespace
}  // namespace peal::cli
