// SPDX-License-Identifier: BSD-3-Clause
// The command `peal load judge`: judges ratios that another program has measured, by the rules of `peal load duel`.
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <cli/command.h>
#include <cli/output_file.h>
#include <load/report/judge_json.h>
#include <peal/base/printable.h>

namespace peal::cli {
namespace {

constexpr size_t kMostQuestionBytes = size_t{64} << 20;

struct JudgeArguments {
  std::string file = "-";
  std::string json;
};

int judge(const JudgeArguments& words) {
  OutputFile file;
  if (const std::string why = file.open(words.json); !why.empty()) return complain(kFailed, why);
  const std::string path = words.file == "-" ? "/dev/stdin" : words.file;
  const std::expected<std::string, std::string> text = read_file(path, kMostQuestionBytes);
  if (!text) return complain(kFailed, text.error());
  const std::expected<std::vector<load::RatioQuestion>, std::string> questions = load::read_questions(*text);
  if (!questions) return complain(kCalledWrongly, fmt::format("{} holds no ratios: {}", path, questions.error()));
  const std::vector<load::RatioAnswer> answers = load::judge_ratios(*questions);
  std::string sentences;
  for (size_t i = 0; i < answers.size(); ++i) {
    sentences += printable(load::sentence_of((*questions)[i], answers[i])) + "\n";
  }
  const std::string trouble = file.report("the verdicts", sentences, load::answers_json(*questions, answers));
  return trouble.empty() ? kDone : complain(kFailed, trouble);
}

}  // namespace

void add_judge(CLI::App& load, int& exit_code) {
  CLI::App* command = load.add_subcommand("judge", "Judge ratios that were measured elsewhere, by the rules of a duel");
  auto words = std::make_shared<JudgeArguments>();
  command->add_option("FILE", words->file,
                      "JSON file with the ratios, one value for each restart; -: stdin (default: -)");
  command->add_option("--json", words->json,
                      "Write the verdicts to this file, as JSON; -: to stdout, and the text to stderr");
  command->footer(
      "docs/load.md explains the rules, which are those of a duel. Ratios of one family are adjusted together (Holm).\n"
      "Exit codes: 0: done; 1: it failed; 2: the command line is wrong, or the input holds no ratios.\n"
      "Example:\n"
      "  echo '{\"ratios\": [{\"subject\": \"new\", \"rival\": \"old\", \"restarts\": [0.95, 0.96, 0.94, 0.95], "
      "\"bar\": 1}]}' |\n"
      "    peal load judge");
  command->callback([words, &exit_code] { exit_code = judge(*words); });
}

}  // namespace peal::cli
