// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/manual.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cli/command.h>

namespace peal::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Manual, has_a_part_for_each_command_and_all_its_options) {
  CLI::App app{"peal: what it is", "peal"};
  int exit_code = 0;
  add_commands(app, exit_code);
  app.footer("Example:\n  peal serve http");
  const std::string page = manual_page(app, "peal", "1.2");
  EXPECT_THAT(page, StartsWith(".TH PEAL 1 \"\" \"peal 1.2\" \"peal\"\n.SH NAME\npeal \\- what it is\n"));
  EXPECT_THAT(page, HasSubstr("\n.SS peal serve pingpong\n"));
  EXPECT_THAT(page, HasSubstr("\n.TP\n\\fB\\-\\-listen\\fR \\fITEXT\\fR\n"));
  EXPECT_THAT(page, HasSubstr("(default: 127.0.0.1:9981)\n"));
  EXPECT_THAT(page, HasSubstr("\n.SH COMMANDS\n.SS peal serve\n"));
  EXPECT_THAT(page, HasSubstr("\n.SH EXIT STATUS\n"));
  EXPECT_THAT(page, EndsWith("\n.SH EXAMPLES\n.PP\n.nf\nExample:\n  peal serve http\n.fi\n"));
}

// man(7) would read a line that begins with a dot or a quote as one of its commands. The page therefore escapes such
// characters.
TEST(Manual, texts_are_shown_as_they_are) {
  CLI::App app{"peal", "peal"};
  CLI::App* command = app.add_subcommand("dots", "It says");
  command->footer(".dot\n'quote\nback\\slash");
  EXPECT_THAT(manual_page(app, "peal", "1"), HasSubstr("\n\\&.dot\n\\&'quote\nback\\eslash\n"));
}

}  // namespace
}  // namespace peal::cli
