// SPDX-License-Identifier: BSD-3-Clause
#include <models/model_table.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace peal::models {
namespace {

TEST(ModelTable, has_every_model_once_and_each_in_a_file_of_its_name) {
  std::set<std::string_view> names;
  std::set<RunModel> functions;
  for (const ModelEntry& row : model_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is in the table twice";
    EXPECT_TRUE(functions.insert(row.run).second) << row.name << " runs the function of another model";
    const std::filesystem::path file = std::string(PEAL_SOURCE_DIR "/models/") + std::string(row.name) + ".cc";
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    std::ifstream source(file);
    std::string licence, idea;
    std::getline(source, licence);
    std::getline(source, idea);
    EXPECT_TRUE(idea.starts_with("// " + std::string(row.name))) << file << " begins with: " << idea;
    // In the rows of libio's models, `historic` is a description instead of a name. The model's file does not have to
    // contain this description.
    const std::string historic = row.historic.empty() || row.family == Family::kLibio ? "" : std::string(row.historic);
    EXPECT_NE(idea.find(historic), std::string::npos) << idea;
  }
}

TEST(ModelTable, has_every_historic_model_of_the_published_table) {
  std::set<std::string_view> historic;
  for (const ModelEntry& row : model_table()) historic.insert(row.historic);
  for (const char* name : {"SingleProcess",
                           "MultiProcess",
                           "MultiThread",
                           "ProcessPool1",
                           "ProcessPool2",
                           "ThreadPool",
                           "LeaderAndFollower",
                           "Select",
                           "Poll",
                           "Epoll",
                           "SelectReactorSingleProcess",
                           "PollReactorSingleProcess",
                           "EpollReactorSingleProcess",
                           "EpollReactorSingleProcessET",
                           "EpollReactorSingleProcessCoroutine",
                           "EpollReactorThreadPool",
                           "EpollReactorThreadPoolHSHA",
                           "EpollReactorThreadPoolHSHA2",
                           "EpollReactorThreadPoolMS",
                           "EpollReactorProcessPoolMS",
                           "EpollReactorProcessPoolCoroutine",
                           "EpollReactorSingleProcessCoroutineHSHA1",
                           "EpollReactorSingleProcessCoroutineHSHA2"}) {
    EXPECT_TRUE(historic.contains(name)) << name;
  }
}

TEST(ModelTable, rows_of_a_family_are_neighbours_and_each_row_is_consistent) {
  std::set<Family> seen;
  Family family = model_table().front().family;
  for (const ModelEntry& row : model_table()) {
    if (row.family != family) {
      EXPECT_TRUE(seen.insert(family).second);
      family = row.family;
    }
    EXPECT_FALSE(seen.contains(row.family)) << row.name << " is not next to the other rows of its family";
    EXPECT_NE(to_string(row.family), "");
    EXPECT_FALSE(row.line.empty());
    EXPECT_EQ(row.serves == Serves::kWorkers, includes(row.takes, Takes::kWorkers) && row.family == Family::kBlocking)
        << row.name;
  }
}

}  // namespace
}  // namespace peal::models
