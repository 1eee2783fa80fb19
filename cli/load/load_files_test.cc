// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <load/record/sample_record.h>
#include <load/report/report_json.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;

// Writes the JSON report of a valid run. Each value of `cpu_ns` makes a different run.
void write_run(const test::TemporaryFolder& folder, const std::string& name, int64_t cpu_ns) {
  load::RunRecord record = load::sample_record({});
  record.gates.clear();
  record.outcome.total.cpu = Duration(cpu_ns);
  std::ofstream(folder.path(name)) << load::report_json(record);
}

TEST(LoadFiles, a_sum_is_shown_written_and_can_be_added_up_again) {
  const test::TemporaryFolder folder;
  write_run(folder, "a", 1000);
  write_run(folder, "b", 2000);
  write_run(folder, "c", 3000);
  Answer answer = call_load({"merge", folder.path("a"), folder.path("b"), "--json", folder.path("ab")});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("6 asked, 4 open, 4 served"));
  EXPECT_THAT(answer.out, HasSubstr("added up    " + folder.path("a") + ", " + folder.path("b")));
  answer = call_load({"merge", folder.path("ab"), folder.path("c"), "--json", "-"});
  EXPECT_EQ(nlohmann::json::parse(answer.out)["messages"], 300);
  EXPECT_THAT(answer.error, HasSubstr("9 asked, 6 open, 6 served"));
}

TEST(LoadFiles, the_same_run_twice_is_refused) {
  const test::TemporaryFolder folder;
  write_run(folder, "a", 1000);
  write_run(folder, "b", 1000);
  expect_refused(call_load({"merge", folder.path("a"), folder.path("b")}), kFailed, "are the same run");
}

TEST(LoadFiles, two_runs_are_compared) {
  const test::TemporaryFolder folder;
  write_run(folder, "a", 1000);
  write_run(folder, "b", 2000);
  const Answer answer = call_load({"compare", folder.path("a"), folder.path("b")});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("One cannot tell which is better: there is too little to test.\n"));
}

TEST(LoadFiles, an_invalid_run_makes_the_exit_code_3) {
  const test::TemporaryFolder folder;
  write_run(folder, "a", 1000);
  std::ofstream(folder.path("b")) << load::report_json(load::sample_record({}));
  EXPECT_EQ(call_load({"compare", folder.path("a"), folder.path("b")}).exit_code, 3);
  EXPECT_EQ(call_load({"merge", folder.path("a"), folder.path("b")}).exit_code, 3);
}

}  // namespace
}  // namespace peal::cli
