// SPDX-License-Identifier: BSD-3-Clause
// Tests that `peal model` passes its words to `peal-model`, and what it prints if that program is missing.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cli/command.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/program.h>

namespace peal::cli {
namespace {

TEST(ModelProgram, gets_all_words_and_runs_in_the_same_process) {
  Program model({"model", "run", "reactor_epoll", "--listen", "127.0.0.1:0"});
  model.listening();
  EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(model.pid()) + "/exe").filename(), "peal-model");
  model.signal(SIGTERM);
  EXPECT_EQ(model.exit_code(), kDone);
}

TEST(ModelProgram, calls_itself_peal_model_in_help_and_in_errors) {
  Program help({"model", "run", "--help"});
  EXPECT_EQ(help.exit_code(), kDone);
  EXPECT_THAT(help.output(), testing::HasSubstr("peal model run"));
  for (const std::string wrong : {"runn", "--helpp"}) {
    Program called({"model", wrong});
    EXPECT_EQ(called.exit_code(), kCalledWrongly) << wrong;
    expect_one_sentence(called.errors());
  }
}

TEST(ModelProgram, is_named_in_the_error_if_it_is_missing) {
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(std::filesystem::path(PEAL_BIN_DIR) / "peal", folder.path("peal"));
  Program alone(folder.path("peal"), {"model", "list"});
  EXPECT_EQ(alone.exit_code(), kFailed);
  EXPECT_THAT(alone.errors(), testing::HasSubstr("peal-model cannot be run: No such file or directory"));
  expect_one_sentence(alone.errors());
}

}  // namespace
}  // namespace peal::cli
