// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/shell_quoting.h>

#include <gtest/gtest.h>

namespace peal::cli {
namespace {

TEST(ShellQuoting, a_word_in_quotation_marks_for_a_shell) {
  EXPECT_EQ(quoted_for_shell("/opt/my peal"), "'/opt/my peal'");
  EXPECT_EQ(quoted_for_shell("it's"), "'it'\\''s'");
}

TEST(ShellQuoting, a_word_that_needs_no_quotation_marks_stays_as_it_is) {
  EXPECT_EQ(shell_word("-DCMAKE_PREFIX_PATH=/opt/peal-0.1"), "-DCMAKE_PREFIX_PATH=/opt/peal-0.1");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("a;b"), "'a;b'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace peal::cli
