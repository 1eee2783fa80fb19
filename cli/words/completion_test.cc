// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/completion.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cli/command.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string offered(const std::vector<std::string>& words) {
  CLI::App app{"peal", "peal"};
  int exit_code = 0;
  add_commands(app, exit_code);
  return completions(app, words);
}

TEST(Completion, commands_that_begin_so) {
  EXPECT_EQ(offered({"se"}), "serve\tRun a server until SIGINT or SIGTERM\n");
  EXPECT_EQ(offered({"load", "ht"}), "http\tSend HTTP requests (HTTP/1.1)\n")
      << "ends at the semicolon, not at the dot";
  EXPECT_THAT(offered({"serve", ""}), StartsWith("pingpong\t"));
  EXPECT_THAT(offered({"serve", ""}), HasSubstr("\nhttp\t"));
}

TEST(Completion, options_of_the_command_that_is_named) {
  EXPECT_THAT(offered({"load", "http", "--conn"}),
              StartsWith("--connections\tNumber of connections, over all threads\n"));
  EXPECT_THAT(offered({"load", "http", "-"}), HasSubstr("\n-c\t"));
  EXPECT_THAT(offered({"serve", "http", "--"}), Not(HasSubstr("--connections")));
}

TEST(Completion, words_that_an_option_takes) {
  EXPECT_EQ(offered({"serve", "pingpong", "--style", "co"}), "coroutines\n");
  EXPECT_EQ(offered({"serve", "pingpong", "--engine", "io"}), "io_uring\n");
  EXPECT_EQ(offered({"load", "http", "--engine", ""}), "auto\nio_uring\nepoll\npoll\nselect\n");
  EXPECT_EQ(offered({"serve", "pingpong", "--listen", ""}), "") << "any text";
  EXPECT_EQ(offered({"serve", "nothing", ""}), "");
  EXPECT_EQ(offered({}), "");
}

TEST(Completion, scripts_name_the_program) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(completion_script(shell, "peal-rpc"), HasSubstr("peal-rpc")) << shell;
    EXPECT_THAT(completion_script(shell, "peal-rpc"), HasSubstr(" --complete ")) << shell;
    EXPECT_THAT(completion_script(shell, "peal-rpc"), HasSubstr("_peal_rpc")) << shell;
  }
}

}  // namespace
}  // namespace peal::cli
