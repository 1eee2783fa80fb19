// SPDX-License-Identifier: BSD-3-Clause
// What --help prints, of the program and of every command in it.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <cli/command.h>

namespace peal::cli {
namespace {

bool is_plain_text(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

size_t expect_plain_help(CLI::App& command, const std::string& name) {
  EXPECT_TRUE(is_plain_text(command.help(name))) << testing::PrintToString(command.help(name));
  size_t commands = 1;
  for (CLI::App* sub : command.get_subcommands({})) commands += expect_plain_help(*sub, name + ' ' + sub->get_name());
  return commands;
}

// `peal model run NAME --help` printed raw NUL and \x01 bytes, the values of one-byte enums.
TEST(Help, is_plain_text_for_every_command) {
  CLI::App app{"peal", "peal"};
  int exit_code = 0;
  add_commands(app, exit_code);
  add_model_commands(app, exit_code);
  EXPECT_GT(expect_plain_help(app, "peal"), 40U) << "models are commands too";
}

}  // namespace
}  // namespace peal::cli
