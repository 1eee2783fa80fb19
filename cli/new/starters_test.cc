// SPDX-License-Identifier: BSD-3-Clause
// Tests the names of projects, and the files that a project gets.
#include <cli/new/starters.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tests/support/files/temporary_folder.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;

// The folder starters/ of the sources.
std::filesystem::path templates() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "starters";
}

// Returns the files in the folders of this kind in the sources, as `peal new` must write them for the name my_service.
std::set<std::string> template_paths(std::string_view kind) {
  std::set<std::string> paths;
  for (const std::string& folder : {std::string("shared"), std::string(kind)}) {
    const std::filesystem::path root = templates() / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) paths.insert(entry.path().lexically_relative(root).string());
    }
  }
  return paths;
}

// Returns the text of a file of the sources, without its licence line.
std::string template_text(std::string_view kind, const std::string& path) {
  std::string text = test::read_file(templates() / kind / path);
  if (text.empty()) text = test::read_file(templates() / "shared" / path);
  const size_t line = text.find('\n');
  return text.substr(0, line).find("SPDX") == text.npos ? text : text.substr(line + 1);
}

std::string contents(const std::vector<ProjectFile>& files) {
  std::string all;
  for (const ProjectFile& file : files) all += file.path + '\n' + file.text;
  return all;
}

TEST(ProjectName, words_and_digits_are_taken) {
  for (const char* name : {"a", "chat", "chat-server", "chat_server", "a1-b2_c3", "my_service", "log", "class"}) {
    EXPECT_EQ(project_name_trouble(name), "") << name;
  }
  EXPECT_EQ(project_name_trouble(std::string(kLongestProjectName, 'a')), "");
}

TEST(ProjectName, other_characters_are_refused) {
  for (const char* name :
       {"", ".", "..", "Chat", "1a", "-a", "a-", "a_", "a--b", "a-_b", "a b", "a.b", "a/b", "ä", "a\n", "$x", "'"}) {
    EXPECT_THAT(project_name_trouble(name), HasSubstr("cannot be the name of a project: it takes")) << name;
  }
  EXPECT_THAT(project_name_trouble(std::string(kLongestProjectName + 1, 'a')), HasSubstr("40 at most"));
}

TEST(ProjectName, targets_of_cmake_and_peal_are_refused) {
  for (const char* name : {"test", "all", "clean", "install", "package", "edit-cache", "peal", "peal_tls", "peal-x"}) {
    EXPECT_THAT(project_name_trouble(name), HasSubstr("has a target of that name")) << name;
  }
}

class StartersOfKind : public testing::TestWithParam<const char*> {};

TEST_P(StartersOfKind, files_are_those_of_the_sources) {
  const std::vector<ProjectFile> files = project_files(GetParam(), "my_service");
  std::set<std::string> paths;
  for (const ProjectFile& file : files) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_EQ(file.text, template_text(GetParam(), file.path)) << file.path;
  }
  EXPECT_EQ(paths, template_paths(GetParam()));
  for (const char* path : {".gitignore", "CMakeLists.txt", "Dockerfile", "README.md", "compose.yaml", "main.cc",
                           "my-service.service", "service.cc", "service_test.cc"}) {
    EXPECT_TRUE(paths.contains(path)) << path;
  }
}

TEST_P(StartersOfKind, no_placeholder_and_no_licence_line_is_left) {
  const std::string all = contents(project_files(GetParam(), "chat-server"));
  for (const char* left : {"my_service", "my-service", "my service", "SPDX", "MyService"}) {
    EXPECT_EQ(all.find(left), all.npos) << left;
  }
  EXPECT_THAT(all, HasSubstr("add_executable(chat_server "));
  EXPECT_THAT(all, HasSubstr("chat-server.service\n"));
  EXPECT_THAT(all, HasSubstr("image: chat-server\n"));
}

TEST_P(StartersOfKind, a_name_that_contains_the_placeholder_is_not_replaced_twice) {
  const std::string all = contents(project_files(GetParam(), "my_service_2"));
  EXPECT_EQ(all.find("my_service_2_2"), all.npos);
  EXPECT_THAT(all, HasSubstr("project(my_service_2 "));
}

INSTANTIATE_TEST_SUITE_P(kinds, StartersOfKind, testing::Values("tcp", "http", "rpc"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(Starters, the_protocol_file_has_the_projects_name) {
  const std::vector<ProjectFile> files = project_files("rpc", "chat-server");
  EXPECT_TRUE(std::ranges::any_of(files, [](const ProjectFile& file) { return file.path == "chat_server.proto"; }));
  EXPECT_THAT(contents(files), HasSubstr("package chat_server_api;"));
}

}  // namespace
}  // namespace peal::cli
