// SPDX-License-Identifier: BSD-3-Clause
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>

namespace peal::cli {
namespace {

using testing::HasSubstr;

Answer judged(const std::string& questions, const std::string& json = "-") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path("ratios")) << questions;
  return call_load({"judge", folder.path("ratios"), "--json", json});
}

nlohmann::json rows_of(const Answer& answer) {
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  return nlohmann::json::parse(answer.out)["ratios"];
}

TEST(LoadJudge, a_page_is_judged_at_once) {
  const Answer answer = judged(R"({"ratios": [
      {"subject": "a", "rival": "a-twin", "restarts": [1, 1, 1, 1], "family": "twins"},
      {"subject": "new", "rival": "old", "restarts": [0.95, 0.96, 0.94, 0.95], "bar": 1, "twin": 0},
      {"subject": "new", "rival": "old", "restarts": [0.95, 0.96, 0.94, 0.95], "side": ">=", "bar": 1},
      {"subject": "new", "rival": "old", "restarts": [2, 2, 2, 2], "least": 1.5},
      {"subject": "new", "rival": "old", "restarts": [2, 2, 2, 2], "obstacle": "it lost bytes"},
      {"subject": "new", "rival": "old", "restarts": [2, 2, 2, 2], "most": 3, "bounded": ["subject"]}]})");
  const nlohmann::json rows = rows_of(answer);
  std::vector<std::string> verdicts;
  for (const nlohmann::json& row : rows) verdicts.push_back(row["verdict"]);
  EXPECT_THAT(verdicts, testing::ElementsAre("level", "met", "not met", "within", "cannot tell", "cannot tell"));
  EXPECT_NEAR(rows[1]["ratio"].get<double>(), 0.95, 1e-3);
  EXPECT_LT(rows[1]["low"], rows[1]["ratio"]);
  EXPECT_EQ(rows[1]["restarts"], 4);
  EXPECT_GT(rows[1]["p_adjusted"], rows[1]["p"]);
  EXPECT_EQ(rows[4]["why"], "it lost bytes");
  EXPECT_EQ(rows[5]["why"], "the generator was full before new was");
  EXPECT_THAT(answer.error, HasSubstr("new / old: 2.000 (2.000 to 2.000) over 4 restarts: within\n"));
}

TEST(LoadJudge, without_json_the_sentences_are_all) {
  const Answer answer = judged(R"({"ratios": [{"subject": "a", "rival": "b", "restarts": [1, 1, 1, 1]}]})", "");
  EXPECT_EQ(answer.exit_code, kCalledWrongly) << "an empty name is a variable that is not set";
  const test::TemporaryFolder folder;
  std::ofstream(folder.path("ratios")) << R"({"ratios": [{"subject": "a", "rival": "b", "restarts": [1, 1, 1, 1]}]})";
  EXPECT_EQ(call_load({"judge", folder.path("ratios")}).out,
            "a / b: 1.000 (1.000 to 1.000) over 4 restarts, p 1: level\n");
}

TEST(LoadJudge, a_name_is_a_part_of_one_line) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path("ratios")) << R"({"ratios": [
      {"subject": "a\n\u001b[31m", "rival": "b", "restarts": [1, 1, 1, 1]}]})";
  EXPECT_EQ(call_load({"judge", folder.path("ratios")}).out,
            "a\\x0A\\x1B[31m / b: 1.000 (1.000 to 1.000) over 4 restarts, p 1: level\n");
}

TEST(LoadJudge, a_restart_without_a_ratio_has_no_value) {
  const nlohmann::json rows = rows_of(judged(R"({"ratios": [
      {"subject": "a", "rival": "b", "restarts": [2, 0, null, -1, 2, 2]},
      {"subject": "a", "rival": "b", "restarts": []}]})"));
  EXPECT_EQ(rows[0]["restarts"], 3);
  EXPECT_NEAR(rows[0]["ratio"].get<double>(), 2, 1e-12);
  EXPECT_TRUE(rows[0]["low"].is_null() && rows[0]["high"].is_null());
  EXPECT_EQ(rows[0]["verdict"], "cannot tell");
  EXPECT_EQ(rows[0]["why"], "too few restarts");
  EXPECT_TRUE(rows[1]["ratio"].is_null());
  EXPECT_EQ(rows_of(judged(R"({"ratios": []})")).size(), 0U);
}

TEST(LoadJudge, what_holds_no_ratios_is_refused_in_one_line) {
  const std::string pair = R"("subject": "a", "rival": "b", "restarts": [1])";
  for (const std::string& text : {std::string(),
                                  std::string("garbage"),
                                  std::string(100'000, '['),
                                  std::string("[]"),
                                  std::string("{}"),
                                  std::string(R"({"ratios": 5})"),
                                  std::string(R"({"ratios": null})"),
                                  std::string(R"({"ratios": {}})"),
                                  std::string(R"({"ratios": [{"subject": "a", "rival": "b", "restarts": null}]})"),
                                  std::string(R"({"ratios": [{"subject": "a", "rival": "b", "restarts": 1}]})"),
                                  std::string(R"({"ratios": [{"subject": "a", "rival": "b", "restarts": {"x": 1}}]})"),
                                  std::string(R"({"ratios": [5]})"),
                                  std::string(R"({"ratios": [{"subject": "a", "rival": "b"}]})"),
                                  std::string(R"({"ratios": [{"subject": "a", "rival": "b", "restarts": ["1"]}]})"),
                                  std::string(R"({"ratios": [{"subject": "a", "rival": "b", "restarts": [NaN]}]})"),
                                  R"({"ratios": [{"bars": 1, )" + pair + "}]}",
                                  R"({"ratios": [{"bar": 0, )" + pair + "}]}",
                                  R"({"ratios": [{"bar": 1, "side": "<", )" + pair + "}]}",
                                  R"({"ratios": [{"side": "<=", )" + pair + "}]}",
                                  R"({"ratios": [{"least": 3, "most": 1, )" + pair + "}]}",
                                  R"({"ratios": [{"least": -1, )" + pair + "}]}",
                                  R"({"ratios": [{"most": -1, )" + pair + "}]}",
                                  R"({"ratios": [{"bar": 1, "least": 1, )" + pair + "}]}",
                                  R"({"ratios": [{"twin": 1, )" + pair + "}]}",
                                  R"({"ratios": [{"twin": -1, )" + pair + "}]}",
                                  R"({"ratios": [{"twin": 0, )" + pair + "}]}",
                                  R"({"ratios": [{"bounded": ["a"], )" + pair + "}]}"}) {
    SCOPED_TRACE(text);
    expect_refused(judged(text), kCalledWrongly, "holds no ratios: ");
  }
}

TEST(LoadJudge, a_file_that_is_not_there) {
  expect_refused(call_load({"judge", "/nowhere/ratios.json"}), kFailed, "/nowhere/ratios.json cannot be read");
}

}  // namespace
}  // namespace peal::cli
