// SPDX-License-Identifier: BSD-3-Clause
// How `peal doctor` answers, and what it makes of the machine that runs this test.
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

TEST(DoctorReport, columns_then_what_it_is_then_the_command) {
  const std::string text = doctor_text({
      {.group = "Queues", .name = "long", .value = "1", .what = "What it is.", .here = "What it limits."},
      {.group = "Queues",
       .name = "short",
       .value = "2",
       .what = std::string(60, 'a'),
       .here = std::string(60, 'b'),
       .health = Health::kBad,
       .mend = "sysctl -w short=3"},
      {.group = "Clocks", .name = "sun", .value = "?", .what = "It.", .here = "Not.", .health = Health::kUnknown},
  });
  EXPECT_EQ(text,
            "Queues\n"
            "  ok       long                            1\n"
            "           What it is. What it limits.\n"
            "  bad      short                           2\n"
            "           " +
                std::string(60, 'a') +
                "\n"
                "           " +
                std::string(60, 'b') +
                "\n"
                "           mend: sysctl -w short=3\n"
                "\n"
                "Clocks\n"
                "  unknown  sun                             ?\n"
                "           It. Not.\n"
                "\n"
                "1 ok, 0 limits, 1 bad, 1 not readable here. Nothing was changed.\n");
}

TEST(DoctorReport, json_says_the_same) {
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
  const Answer answer = doctor({"--look", "10ms"});
  EXPECT_EQ(answer.exit_code, kDone);
  EXPECT_THAT(answer.error, IsEmpty());
  EXPECT_THAT(answer.out, HasSubstr("net.core.somaxconn"));
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

TEST(DoctorCommand, what_is_called_wrongly_is_said_in_one_sentence) {
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
