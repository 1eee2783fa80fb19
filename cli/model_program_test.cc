// SPDX-License-Identifier: BSD-3-Clause
// That `peal model` is the program beside `peal`, with the words it was given, and what is said where there is none.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cli/command.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/program.h>

namespace peal::cli {
namespace {

TEST(ModelProgram, is_given_all_words_and_keeps_the_process) {
  Program model({"model", "run", "reactor_epoll", "--listen", "127.0.0.1:0"});
  model.listening();
  EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(model.pid()) + "/exe").filename(), "peal-model");
  model.signal(SIGTERM);
  EXPECT_EQ(model.exit_code(), kDone);
}

TEST(ModelProgram, speaks_as_peal_of_help_and_of_wrong_words) {
  Program help({"model", "run", "--help"});
  EXPECT_EQ(help.exit_code(), kDone);
  EXPECT_THAT(help.output(), testing::HasSubstr("peal model run"));
  for (const std::string wrong : {"runn", "--helpp"}) {
    Program called({"model", wrong});
    EXPECT_EQ(called.exit_code(), kCalledWrongly) << wrong;
    expect_one_sentence(called.errors());
  }
}

TEST(ModelProgram, that_is_missing_is_named) {
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(std::filesystem::path(PEAL_BIN_DIR) / "peal", folder.path("peal"));
  Program alone(folder.path("peal"), {"model", "list"});
  EXPECT_EQ(alone.exit_code(), kFailed);
  EXPECT_THAT(alone.errors(), testing::HasSubstr("peal-model cannot be run: No such file or directory"));
  expect_one_sentence(alone.errors());
}

}  // namespace
}  // namespace peal::cli
