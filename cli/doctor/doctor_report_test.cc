// SPDX-License-Identifier: BSD-3-Clause
// Tests the report of `peal doctor`, and runs the command on the machine that runs the test.
#include <cli/doctor/doctor_report.h>

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cli/doctor/machine_files.h>
#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Answer doctor(std::vector<std::string> words) { return call_command("doctor", add_doctor, std::move(words)); }

void expect_at_most_100_columns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

const Findings kFindings{
    {.group = "Queues", .name = "long", .value = "1", .what = "What it is.", .here = "What it limits."},
    {.group = "Clocks", .name = "sun", .value = "?", .what = "It.", .here = "Not.", .health = Health::kUnknown},
    {.group = "Queues",
     .name = "short",
     .value = "2",
     .what = std::string(60, 'a'),
     .here = std::string(60, 'b'),
     .health = Health::kBad,
     .mend = "sysctl -w short=3"},
    {.group = "Clocks", .name = "moon", .value = "3", .what = "It.", .here = "Is."},
};
const std::string kIll =
    "  bad      short                           2\n"
    "           " +
    std::string(60, 'a') + "\n           " + std::string(60, 'b') +
    "\n"
    "           fix: sysctl -w short=3\n"
    "  unknown  sun                             ?\n"
    "           It. Not.\n";
constexpr const char* kCounts = "\n2 ok, 0 limits, 1 bad, 1 not readable here. Nothing was changed.\n";

TEST(DoctorReport, bad_findings_come_first_and_good_ones_are_only_named) {
  EXPECT_EQ(doctor_text(kFindings), kIll + "  ok       long, moon (explained by --all)\n" + kCounts);
}

TEST(DoctorReport, with_all_the_good_findings_are_explained_in_groups) {
  EXPECT_EQ(doctor_text(kFindings, true), kIll +
                                              "\nQueues\n"
                                              "  ok       long                            1\n"
                                              "           What it is. What it limits.\n"
                                              "\nClocks\n"
                                              "  ok       moon                            3\n"
                                              "           It. Is.\n" +
                                              kCounts);
}

TEST(DoctorReport, a_terminal_shows_verdicts_in_colours) {
  const std::string text = doctor_text(kFindings, false, load::Paint(true));
  EXPECT_THAT(text, HasSubstr("  \x1b[31mbad     \x1b[0m short"));
  EXPECT_THAT(text, HasSubstr("  \x1b[32mok      \x1b[0m long"));
}

TEST(DoctorReport, findings_as_json) {
  const auto json = nlohmann::json::parse(doctor_json({{.group = "Queues",
                                                        .name = "short",
                                                        .value = "2",
                                                        .what = "It.",
                                                        .here = "bytes that are no text: \xff",
                                                        .health = Health::kLimits,
                                                        .mend = "sysctl -w short=3"}}));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["limits"], 1);
  EXPECT_EQ(json["ok"], 0);
  ASSERT_EQ(json["findings"].size(), 1U);
  EXPECT_EQ(json["findings"][0]["verdict"], "limits");
  EXPECT_EQ(json["findings"][0]["mend"], "sysctl -w short=3");
}

TEST(DoctorCommand, this_machine_as_text) {
  const Answer answer = doctor({"--look", "10ms", "--all"});
  EXPECT_EQ(answer.exit_code, kDone);
  EXPECT_THAT(answer.error, IsEmpty());
  EXPECT_THAT(answer.out, HasSubstr("net.core.somaxconn"));
  EXPECT_THAT(answer.out, Not(HasSubstr("\x1b"))) << "stdout is no terminal";
  EXPECT_THAT(answer.out, HasSubstr("Nothing was changed."));
  expect_at_most_100_columns(answer.out);
}

TEST(DoctorCommand, this_machine_as_json) {
  const Answer answer = doctor({"--json", "--look", "10ms"});
  EXPECT_EQ(answer.exit_code, kDone);
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_GE(json["findings"].size(), 35U);
  for (const auto& found : json["findings"]) EXPECT_THAT(found["here"].get<std::string>(), Not(IsEmpty()));
}

TEST(DoctorCommand, a_wrong_command_line_gets_one_sentence) {
  for (const std::string look : {"soon", "2m"}) {
    expect_refused(doctor({"--look", look}), kCalledWrongly, "--look takes a time up to 1m");
  }
}

TEST(MachineFiles, lists_of_cpus) {
  EXPECT_EQ(parse_list("0-2,8"), (std::vector<uint32_t>{0, 1, 2, 8}));
  EXPECT_EQ(parse_list("\n"), std::vector<uint32_t>{});
  for (std::string_view wrong : {"2-1", "a", "0-4294967295", "1-", "-1"}) {
    EXPECT_EQ(parse_list(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace peal::cli
