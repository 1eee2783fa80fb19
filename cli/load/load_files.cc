// SPDX-License-Identifier: BSD-3-Clause
// The commands `peal load merge` and `peal load compare`, which read the JSON of several runs.
#include <cstdio>
#include <expected>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <cli/command.h>
#include <cli/output_file.h>
#include <load/record/merge_runs.h>
#include <load/record/record_reader.h>
#include <load/report/compare_runs.h>
#include <load/report/report_json.h>
#include <load/report/report_text.h>

namespace peal::cli {
namespace {

// The largest JSON file that merge and compare read: 256 MiB. Even a run of many hours with --interval 1s and --hdr
// writes less, although its JSON holds a histogram for each second.
constexpr size_t kMostRecordBytes = size_t{256} << 20;

using Records = std::vector<load::NamedRecord>;

std::expected<Records, std::string> read_files(const std::vector<std::string>& paths) {
  Records records;
  for (const std::string& path : paths) {
    const std::expected<std::string, std::string> text = read_file(path, kMostRecordBytes);
    if (!text) return std::unexpected(text.error());
    if (text->empty()) return std::unexpected(fmt::format("{} is empty", path));
    std::expected<load::RunRecord, std::string> record = load::read_record(*text);
    if (!record) return std::unexpected(fmt::format("{}: {}", path, record.error()));
    records.push_back({path, std::move(*record)});
  }
  return records;
}

int merge(const std::vector<std::string>& paths, const std::string& json) {
  OutputFile file;
  if (const std::string why = file.open(json); !why.empty()) return complain(kFailed, why);
  const std::expected<Records, std::string> records = read_files(paths);
  if (!records) return complain(kFailed, records.error());
  const std::expected<load::RunRecord, std::string> sum = load::merge_runs(*records);
  if (!sum) return complain(kFailed, sum.error());
  const std::string trouble =
      file.report("the report", load::report_text(*sum, paint_for(file.report_place())), load::report_json(*sum));
  if (!trouble.empty()) return complain(kFailed, trouble);
  return load::is_invalid(sum->gates) ? kGateFailed : kDone;
}

// Returns a path that is given twice, or an empty text. If the same run were given twice, the comparison would count it
// as two runs with equal results.
std::string twice(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::set<std::string> seen;
  for (const std::vector<std::string>* side : {&first, &second}) {
    for (const std::string& path : *side) {
      if (!seen.insert(path).second) return path;
    }
  }
  return {};
}

int compare(std::vector<std::string> first, std::vector<std::string> second) {
  if (second.empty()) {
    if (first.size() != 2) {
      return complain(kCalledWrongly,
                      "give two files, or the files of one side and, after --against, those of the other side");
    }
    second = {std::move(first[1])};
    first.pop_back();
  }
  if (const std::string path = twice(first, second); !path.empty()) {
    return complain(kCalledWrongly, fmt::format("{} is given twice: give each run once", path));
  }
  const std::expected<Records, std::string> firsts = read_files(first);
  if (!firsts) return complain(kFailed, firsts.error());
  const std::expected<Records, std::string> seconds = read_files(second);
  if (!seconds) return complain(kFailed, seconds.error());
  const std::expected<load::Comparison, std::string> comparison = load::compare_runs(*firsts, *seconds);
  if (!comparison) return complain(kFailed, comparison.error());
  if (!say(stdout, load::comparison_text(*comparison))) {
    return complain(kFailed, "the comparison could not be written to stdout");
  }
  return comparison->invalid ? kGateFailed : kDone;
}

struct FileArguments {
  std::vector<std::string> first;
  std::vector<std::string> second;
  std::string json;
};

}  // namespace

void add_merge(CLI::App& load, int& exit_code) {
  CLI::App* command =
      load.add_subcommand("merge", "Add up the results of runs that several machines made at the same time");
  auto words = std::make_shared<FileArguments>();
  command->add_option("FILES", words->first, "JSON files that peal load or peal load merge has written")->required();
  command->add_option("--json", words->json,
                      "Write the sum to this file, as JSON; -: to stdout, and the report to stderr");
  command->footer(
      "Histograms are added bucket by bucket, so that no precision is lost. Runs with different options, or at\n"
      "different times, are refused.\n"
      "Example:\n  peal load merge a.json b.json c.json --json all.json");
  command->callback([words, &exit_code] { exit_code = merge(words->first, words->json); });
}

void add_compare(CLI::App& load, int& exit_code) {
  CLI::App* command = load.add_subcommand(
      "compare", "Say which of two runs, or of two sets of runs, is better, if the figures show it");
  auto words = std::make_shared<FileArguments>();
  command
      ->add_option("FILES", words->first,
                   "JSON files that peal load has written: two runs, or all runs of the first side")
      ->required();
  command->add_option("--against", words->second, "JSON files of the runs of the second side");
  command->footer(
      "With one run on each side, the intervals within the two runs are compared; this cannot show how much one run\n"
      "differs from the next. With four or more runs on each side, the runs are compared, each with the run of the\n"
      "other side at the same place.\n"
      "Exit codes: 0: done; 1: it failed; 2: the command line is wrong; 3: a run is INVALID, so nothing is concluded.\n"
      "Examples:\n"
      "  peal load compare before.json after.json\n"
      "  peal load compare before-*.json --against after-*.json");
  command->callback([words, &exit_code] { exit_code = compare(words->first, words->second); });
}

}  // namespace peal::cli
