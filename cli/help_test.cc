// SPDX-License-Identifier: BSD-3-Clause
// Tests what --help prints for the program and for every command.
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

// `peal model run NAME --help` once printed NUL and \x01 bytes: CLI11 showed the values of enums that have one byte.
void expect_example(const CLI::App& command, const std::string& name) {
  EXPECT_NE(command.get_footer().find("Example"), std::string::npos) << name;
  EXPECT_NE(command.get_footer().find("  peal "), std::string::npos) << name;
  for (const CLI::App* sub : command.get_subcommands({})) expect_example(*sub, name + ' ' + sub->get_name());
}

TEST(Help, has_an_example_for_every_command) {
  CLI::App app{"peal", "peal"};
  int exit_code = 0;
  add_commands(app, exit_code);
  add_model_commands(app, exit_code);
  for (const CLI::App* command : app.get_subcommands({})) expect_example(*command, command->get_name());
}

TEST(Help, is_plain_text_for_every_command) {
  CLI::App app{"peal", "peal"};
  int exit_code = 0;
  add_commands(app, exit_code);
  add_model_commands(app, exit_code);
  EXPECT_GT(expect_plain_help(app, "peal"), 40U) << "models are commands too";
}

}  // namespace
}  // namespace peal::cli
