// SPDX-License-Identifier: BSD-3-Clause
// The command `peal load duel`: measures several servers alternately and compares them.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <cli/command.h>
#include <cli/load/drawn_line.h>
#include <cli/load/duel_arguments.h>
#include <cli/output_file.h>
#include <load/duel/duel_json.h>
#include <load/duel/duel_run.h>
#include <load/duel/duel_text.h>

namespace peal::cli {
namespace {

constexpr std::string_view kExperiments[] = {"pingpong", "echo", "http"};

// Returns how many fds the duel needs. With --in-turn, only the connections to one server are open at the same time.
// Without --in-turn, the connections to all servers are open at the same time.
size_t fds_needed(const load::DuelOptions& options) {
  load::LoadOptions all = options.load;
  const size_t at_once = options.in_turn ? 1 : options.contenders.size();
  all.connections *= at_once;
  all.idle_connections *= at_once;
  return load::fds_needed(all) + 4 * at_once;
}

std::string first_failure(const load::DuelRecord& record) {
  for (const load::DuelSideRecord& side : record.sides) {
    if (!side.failures.empty()) return ": " + side.failures.kinds.begin()->second.first;
  }
  return {};
}

std::expected<load::DuelRecord, std::string> play(const DuelJob& job, const std::string& live) {
  DrawnLine line(live);
  const auto show = [&](const load::DuelProgress& progress) {
    const bool restart_is_over = progress.rounds == progress.record.options.rounds;
    if (!line.shows() || !(line.over_itself() || restart_is_over)) return;
    // Only a line that a later one replaces must fit into the terminal. In a file or a pipe, the line stays whole.
    line.draw(load::duel_line(progress, line.over_itself() ? line.columns() : std::string::npos));
  };
  return load::run_duel(job.options, job.protocol, show, job.place);
}

int check_and_play(Experiment experiment, const DuelArguments& words) {
  const std::expected<DuelJob, CommandTrouble> job = read_duel(experiment, words);
  if (!job) return complain(job.error());
  if (const CommandTrouble trouble = engine_trouble(job->options.load.engine); !trouble.empty()) {
    return complain(trouble);
  }
  if (const size_t limit = raise_fd_limit(), needed = fds_needed(job->options); needed > limit) {
    return complain(
        kFailed, fmt::format("contenders at a time: {}; connections of each: {}; these need {} open fds, "
                             "but this process may have only {}: ask for fewer{}",
                             job->options.in_turn ? 1 : job->options.contenders.size(), job->options.load.connections,
                             needed, limit, job->options.in_turn ? "" : ", or give --in-turn"));
  }
  OutputFile json;
  if (const std::string why = json.open(words.load.json); !why.empty()) return complain(kFailed, why);
  const QuietHandshakes quiet(!job->layers.empty());
  std::expected<load::DuelRecord, std::string> record = play(*job, words.load.live);
  if (!record) {
    return complain(record.error() == load::kDuelInterruptedEarly ? kInterrupted : kFailed, record.error());
  }
  record->experiment = std::string(kExperiments[static_cast<size_t>(experiment)]);
  record->request = job->request;
  record->schedule = job->schedule;
  if (std::ranges::all_of(record->sides, [](const auto& side) { return side.counts.messages == 0; })) {
    const bool answered = std::ranges::any_of(record->sides, [](const auto& side) { return side.counts.wrong > 0; });
    return complain(kFailed,
                    (answered ? "no answer was correct" : "not a single message came back") + first_failure(*record));
  }
  const load::DuelJudgement judgement = load::judge_duel(*record);
  const std::string trouble =
      json.report("the report", load::duel_text(*record, judgement), load::duel_json(*record, judgement));
  if (!trouble.empty()) return complain(kFailed, trouble);
  if (record->interrupted) return kInterrupted;
  return std::ranges::any_of(judgement.gates, &load::DuelGate::invalid) ? kGateFailed : kDone;
}

// True if `command` itself was given options. Options after the name of a subcommand belong to the subcommand, and do
// not count.
bool has_options(const CLI::App& command) {
  return std::ranges::any_of(command.get_options(), [](const CLI::Option* option) { return option->count() > 0; });
}

}  // namespace

void add_duel(CLI::App& load, int& exit_code) {
  CLI::App* duel = load.add_subcommand(
      "duel", "Compare servers that take turns every 20 ms, so that noise of the machine affects all of them alike");
  duel->require_subcommand(0, 1);
  duel->footer(
      "The protocol is ping-pong, unless the first word is echo or http. The first contender is also compared with\n"
      "itself (A/A), which shows how much figures differ by chance.\n"
      "Exit codes: 0: done; 1: it failed; 2: the command line is wrong; 3: measured, but the figures cannot be\n"
      "trusted; 130: interrupted.\n"
      "Examples:\n"
      "  peal load duel --run 'mine=./my_server --port {port}' --run 'peal=peal serve pingpong --listen {listen}'\n"
      "  peal load duel http --run 'a=./old --listen {listen}' --run 'b=./new --listen {listen}' --claim 'b/a <= 0.9'\n"
      "  peal load duel http a=http://127.0.0.1:8080/ b=http://127.0.0.1:8081/ --pid a=4711 --pid b=4712\n"
      "  peal load duel http --tls --tls-ca site.pem --tls-name localhost --handshakes --run 'a=./old --listen "
      "{listen}' --run 'b=./new --listen {listen}'\n"
      "  peal load duel --server-host box2 --run 'a=/opt/a --listen {listen}' --run 'b=/opt/b --listen {listen}'");
  for (const Experiment experiment : {Experiment::kPingPong, Experiment::kEcho, Experiment::kHttp}) {
    CLI::App* command = duel->add_subcommand(std::string(kExperiments[static_cast<size_t>(experiment)]),
                                             "Compare servers that speak this protocol");
    auto words = std::make_shared<DuelArguments>();
    add_duel_options(*command, experiment, *words);
    command->callback([duel, command, words, experiment, &exit_code] {
      exit_code = has_options(*duel)
                      ? complain(kCalledWrongly,
                                 fmt::format("give the options of the duel after the word {}", command->get_name()))
                      : check_and_play(experiment, *words);
    });
  }
  auto words = std::make_shared<DuelArguments>();
  add_duel_options(*duel, Experiment::kPingPong, *words);
  duel->callback([duel, words, &exit_code] {
    if (duel->get_subcommands().empty()) exit_code = check_and_play(Experiment::kPingPong, *words);
  });
}

}  // namespace peal::cli
