// SPDX-License-Identifier: BSD-3-Clause
// Tests every option of every command. An empty text was once read as 0, for example in `--rate-limit ''`, and 0
// switches the limit off. `--body-limit 99999999999999999999` was once read as the largest number of its type.
#include <cli/number_option.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cli/command.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using CommandLine = std::vector<std::string>;

// Parses the command `path` followed by `words`, without running the command. Returns the error message, or "accepted".
std::string said_about(CLI::App& app, const CommandLine& path, const CommandLine& words) {
  CommandLine line = path;
  line.insert(line.end(), words.begin(), words.end());
  std::ranges::reverse(line);
  try {
    app.parse(line);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "accepted";
}

bool takes_text(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
bool takes_number(const CLI::Option& option) { return option.get_type_name().starts_with("NUMBER"); }

template <class Visit>
void for_each_option(CLI::App& app, CLI::App& command, const CommandLine& path, const Visit& visit) {
  command.callback([] {});
  for (CLI::Option* option : command.get_options()) {
    if (takes_text(*option)) visit(*option, path);
  }
  for (CLI::App* sub : command.get_subcommands({})) {
    CommandLine deeper = path;
    deeper.push_back(sub->get_name());
    for_each_option(app, *sub, deeper, visit);
  }
}

CommandLine given(const CLI::Option& option, const std::string& text) {
  if (option.get_positional()) return {text};
  const std::string name = option.get_name();
  return name.starts_with("--") && !text.empty() ? CommandLine{name + '=' + text} : CommandLine{name, text};
}

class EveryOption : public testing::Test {
 protected:
  EveryOption() {
    add_commands(app_, exit_code_);
    add_model_commands(app_, exit_code_);
    refuse_empty_texts(*app_.get_subcommand("model"));
  }
  template <class Visit>
  void visit(const Visit& visit) {
    for_each_option(app_, app_, {}, visit);
  }

  int exit_code_ = 0;
  CLI::App app_{"peal", "peal"};
};

TEST_F(EveryOption, refuses_an_empty_text) {
  size_t options = 0;
  visit([&](const CLI::Option& option, const CommandLine& path) {
    EXPECT_THAT(said_about(app_, path, given(option, "")), HasSubstr("it may not be empty"))
        << testing::PrintToString(path) << option.get_name();
    ++options;
  });
  EXPECT_GT(options, 300U) << "the options of the models count too";
}

TEST_F(EveryOption, that_takes_a_number_refuses_other_texts_and_numbers_that_are_too_large) {
  size_t options = 0;
  visit([&](const CLI::Option& option, const CommandLine& path) {
    if (!takes_number(option)) return;
    for (const char* text : {"x", "1x", " 1", "1 ", "-1", "+1", "0x10", "nan", "1e400", "99999999999999999999"}) {
      EXPECT_THAT(said_about(app_, path, given(option, text)), HasSubstr("it takes a number from "))
          << testing::PrintToString(path) << option.get_name() << ' ' << text;
    }
    ++options;
  });
  EXPECT_GT(options, 60U);
}

// Every option with a number must be added with add_number(), because CLI11's own conversion accepts wrong numbers.
// Only --memory is different: CLI11 converts sizes such as 256MiB, and the command checks the limits.
TEST_F(EveryOption, that_takes_a_number_is_made_by_add_number) {
  visit([&](const CLI::Option& option, const CommandLine& path) {
    if (option.get_name() == "--memory") return;
    for (const char* kind : {"INT", "UINT", "FLOAT"}) {
      EXPECT_THAT(option.get_type_name(), testing::Not(StartsWith(kind)))
          << testing::PrintToString(path) << option.get_name();
    }
  });
}

TEST(NumberOption, accepts_numbers_within_its_limits_and_shows_the_limits) {
  CLI::App app{"a"};
  size_t place = 5;
  add_number(app, "--place", place, size_t{1}, 10, "Somewhere");
  EXPECT_THAT(app.help(), HasSubstr("--place NUMBER 1..10"));
  for (const auto& [text, number] : {std::pair("1", 1U), std::pair("10", 10U), std::pair("007", 7U)}) {
    EXPECT_EQ(said_about(app, {}, {"--place", text}), "accepted");
    EXPECT_EQ(place, number);
  }
  EXPECT_EQ(said_about(app, {}, {"--place", "0"}), "--place: it takes a number from 1 to 10, not '0'");
  EXPECT_EQ(said_about(app, {}, {"--place", "11"}), "--place: it takes a number from 1 to 10, not '11'");
  EXPECT_EQ(place, 7U);
}

TEST(NumberOption, an_optional_number_stays_empty_if_the_option_is_not_given) {
  CLI::App app{"a"};
  std::optional<size_t> place;
  add_number(app, "--place", place, "Somewhere");
  EXPECT_EQ(said_about(app, {}, {}), "accepted");
  EXPECT_FALSE(place.has_value());
  EXPECT_EQ(said_about(app, {}, {"--place", "18446744073709551615"}), "accepted");
  EXPECT_EQ(place, SIZE_MAX);
}

}  // namespace
}  // namespace peal::cli
