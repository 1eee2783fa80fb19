// SPDX-License-Identifier: BSD-3-Clause
#include <cli/words/misuse.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <cli/command.h>

namespace peal::cli {
namespace {

// Returns the error message of `peal` for a command line with these words.
std::string said(const std::vector<std::string>& words) {
  CLI::App app{"peal", "peal"};
  app.set_version_flag("--version", "0");
  int exit_code = 0;
  add_commands(app, exit_code);
  return misuse(app, words, "a fault");
}

TEST(Misuse, a_wrong_command_is_named_with_the_nearest) {
  EXPECT_EQ(said({"serv"}), "peal has no command 'serv' (did you mean serve?) (see peal --help)");
  EXPECT_EQ(said({"serve", "htp"}), "peal serve has no command 'htp' (did you mean http?) (see peal serve --help)");
  EXPECT_EQ(said({"load", "xyzzy"}),
            "peal load has no command 'xyzzy'; there are: pingpong, echo, http, duel, agent, merge, compare, judge "
            "(see peal load --help)");
}

TEST(Misuse, a_command_of_another_command_is_found) {
  EXPECT_EQ(said({"pingpong"}),
            "peal has no command 'pingpong' (did you mean peal serve pingpong or peal load pingpong or peal load duel "
            "pingpong?) (see peal --help)");
}

TEST(Misuse, a_wrong_option_is_named_with_the_nearest) {
  EXPECT_EQ(said({"--verison"}), "peal has no option --verison (did you mean --version?) (see peal --help)");
  EXPECT_EQ(said({"serve", "pingpong", "--lisen", "127.0.0.1:22050"}),
            "peal serve pingpong has no option --lisen (did you mean --listen?) (see peal serve pingpong --help)");
  EXPECT_EQ(said({"serve", "pingpong", "--lisen=127.0.0.1:22050"}),
            "peal serve pingpong has no option --lisen (did you mean --listen?) (see peal serve pingpong --help)");
  EXPECT_EQ(said({"--listen", "127.0.0.1:0", "serve", "http"}),
            "peal has no option --listen; it stands after the command, as in peal serve pingpong --listen (see peal "
            "--help)");
  EXPECT_EQ(said({"load", "http", "--bogus"}), "peal load http has no option --bogus (see peal load http --help)");
}

TEST(Misuse, a_url_without_its_command_is_understood) {
  EXPECT_EQ(
      said({"load", "http://127.0.0.1:1/", "-c", "4"}),
      "peal load has no command 'http://127.0.0.1:1/' (did you mean peal load http http://127.0.0.1:1/?) (see peal "
      "load --help)");
}

TEST(Misuse, a_missing_value_is_asked_for) {
  EXPECT_EQ(
      said({"load", "judge", "--json"}),
      "--json needs a value: Write the verdicts to this file, as JSON; -: to stdout, and the text to stderr (see peal "
      "load judge --help)");
}

TEST(Misuse, values_of_options_are_no_words_of_their_own) {
  EXPECT_EQ(said({"serve", "pingpong", "--listen", "--lisen"}), "a fault (see peal serve pingpong --help)");
  EXPECT_EQ(said({"load", "pingpong", "-c", "5", "127.0.0.1:1"}), "a fault (see peal load pingpong --help)");
  EXPECT_EQ(said({"load", "pingpong", "-c5", "127.0.0.1:1"}), "a fault (see peal load pingpong --help)");
  EXPECT_EQ(said({"load", "pingpong", "--", "-x"}), "a fault (see peal load pingpong --help)");
  EXPECT_EQ(said({"load", "duel", "a=127.0.0.1:1", "b=127.0.0.1:2"}), "a fault (see peal load duel --help)");
}

TEST(Misuse, a_text_too_many_is_named) {
  EXPECT_EQ(said({"load", "pingpong", "127.0.0.1:1", "127.0.0.1:2"}),
            "peal load pingpong takes no further text, as '127.0.0.1:2' (see peal load pingpong --help)");
}

TEST(Misuse, a_missing_command_is_asked_for) {
  EXPECT_EQ(said({"serve"}), "peal serve needs a command; there are: pingpong, echo, http (see peal serve --help)");
}

}  // namespace
}  // namespace peal::cli
