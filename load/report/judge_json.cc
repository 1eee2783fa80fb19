// SPDX-License-Identifier: BSD-3-Clause
// The JSON library and the functions of this file throw exceptions. read_questions() catches all of them.
#include <load/report/judge_json.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace peal::load {
namespace {

constexpr std::array<std::string_view, 11> kQuestionKeys{"subject", "rival",  "restarts", "bar",  "side",   "least",
                                                         "most",    "family", "obstacle", "twin", "bounded"};

[[noreturn]] void refuse_question(const std::string& sentence) { throw std::runtime_error(sentence); }

const nlohmann::json& list_of(const nlohmann::json& whole, const char* name) {
  const nlohmann::json& list = whole.at(name);
  if (!list.is_array()) refuse_question(fmt::format("\"{}\" is not a list", name));
  return list;
}

RatioEstimate restarts_of(const nlohmann::json& ratio) {
  std::vector<double> logs;
  for (const nlohmann::json& value : list_of(ratio, "restarts")) {
    logs.push_back(restart_value(value.is_null() ? 0 : value.get<double>(), 1));
  }
  return RatioEstimate(logs);
}

Bar bar_asked(const nlohmann::json& ratio) {
  const std::string side = ratio.value("side", "<=");
  if (side != "<=" && side != ">=") refuse_question(fmt::format("\"side\" must be \"<=\" or \">=\", not \"{}\"", side));
  const Bar bar{.side = side == "<=" ? Bar::Side::kAtMost : Bar::Side::kAtLeast,
                .ratio = ratio.at("bar").get<double>()};
  if (!(bar.ratio > 0)) refuse_question("\"bar\" is not a positive number");
  return bar;
}

Range range_asked(const nlohmann::json& ratio) {
  const Range range{.least = ratio.value("least", Range{}.least), .most = ratio.value("most", Range{}.most)};
  if (!(range.least >= 0 && range.least <= range.most))
    refuse_question("\"least\" to \"most\" is not a range of ratios");
  return range;
}

RatioQuestion question_of_json(const nlohmann::json& ratio) {
  for (const auto& [key, value] : ratio.get<nlohmann::json::object_t>()) {
    if (std::ranges::find(kQuestionKeys, key) == kQuestionKeys.end()) {
      refuse_question(fmt::format("\"{}\" is not a field of a ratio", key));
    }
  }
  RatioQuestion question{.subject = ratio.at("subject").get<std::string>(),
                         .rival = ratio.at("rival").get<std::string>(),
                         .estimate = restarts_of(ratio),
                         .family = ratio.value("family", ""),
                         .obstacle = ratio.value("obstacle", "")};
  const bool has_range = ratio.contains("least") || ratio.contains("most");
  if (ratio.contains("bar") && has_range) refuse_question("a ratio has both a bar and a range: give only one of them");
  if (ratio.contains("bar")) question.asked = bar_asked(ratio);
  if (ratio.contains("side") && !ratio.contains("bar")) refuse_question("a ratio has a side, but no bar");
  if (has_range) question.asked = range_asked(ratio);
  if (ratio.contains("twin")) {
    if (!ratio["twin"].is_number_unsigned()) refuse_question("\"twin\" is not the index of a ratio");
    question.twin = ratio["twin"].get<size_t>();
  }
  for (const std::string& name : ratio.value("bounded", std::vector<std::string>())) {
    if (name != "subject" && name != "rival") refuse_question("\"bounded\" may contain only \"subject\" and \"rival\"");
    if (name == "subject") {
      question.subject_bounded = true;
    } else {
      question.rival_bounded = true;
    }
  }
  return question;
}

void check_twins(std::span<const RatioQuestion> questions) {
  for (const RatioQuestion& question : questions) {
    if (!question.twin) continue;
    if (*question.twin >= questions.size())
      refuse_question(fmt::format("\"twin\" is {}, but there is no such ratio", *question.twin));
    const RatioQuestion& twin = questions[*question.twin];
    if (twin.twin || !std::holds_alternative<std::monostate>(twin.asked)) {
      refuse_question(
          fmt::format("ratio {} cannot be a twin: it has a bar, a range or a twin of its own", *question.twin));
    }
  }
}

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::expected<std::vector<RatioQuestion>, std::string> read_questions(std::string_view json) {
  try {
    std::vector<RatioQuestion> questions;
    const nlohmann::json whole = nlohmann::json::parse(json);
    for (const nlohmann::json& ratio : list_of(whole, "ratios")) questions.push_back(question_of_json(ratio));
    check_twins(questions);
    return questions;
  } catch (const std::exception& error) {
    return std::unexpected(error.what());
  }
}

std::string answers_json(std::span<const RatioQuestion> questions, std::span<const RatioAnswer> answers) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < questions.size(); ++i) {
    const RatioEstimate& estimate = questions[i].estimate;
    rows.push_back({{"subject", questions[i].subject},
                    {"rival", questions[i].rival},
                    {"ratio", finite_or_null(estimate.ratio())},
                    {"low", estimate.known() ? finite_or_null(estimate.low()) : nullptr},
                    {"high", finite_or_null(estimate.high())},
                    {"restarts", estimate.restarts()},
                    {"p", answers[i].p},
                    {"p_adjusted", answers[i].adjusted_p},
                    {"verdict", to_string(answers[i].verdict)},
                    {"why", answers[i].why},
                    {"sentence", sentence_of(questions[i], answers[i])}});
  }
  return nlohmann::ordered_json{{"ratios", rows}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace peal::load
