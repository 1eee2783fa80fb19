// SPDX-License-Identifier: BSD-3-Clause
// The command `peal drum`: passes bytes around a ring of fds and reports the time that the event loop took.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <cli/command.h>
#include <cli/number_option.h>
#include <cli/output_file.h>
#include <load/drum/drum_report.h>
#include <load/drum/drum_ring.h>

namespace peal::cli {
namespace {

// The values of the options of `peal drum`.
struct DrumArguments {
  load::DrumOptions options;
  bool timeouts = false;
  bool rearm = false;
  std::string json;
};

int report(const DrumArguments& words, const load::DrumOutcome& outcome, OutputFile& json) {
  if (!json.is_stdout() && !say(stdout, load::drum_text(words.options, outcome))) {
    return complain(kFailed, "the figures could not be written to stdout");
  }
  if (!json.is_wanted() || json.write(load::drum_json(words.options, outcome))) return kDone;
  return complain(kFailed,
                  fmt::format("the figures could not be written to {}", json.is_stdout() ? "stdout" : words.json));
}

int check_and_drum(DrumArguments& words) {
  load::DrumOptions& options = words.options;
  if (words.rearm && !words.timeouts) {
    return complain(kCalledWrongly, "--rearm says how the idle timers work: give --timeouts too");
  }
  if (words.timeouts) options.idle = words.rearm ? load::DrumIdle::kRearm : load::DrumIdle::kTouch;
  if (std::string trouble = load::drum_trouble(options); !trouble.empty()) return complain(kCalledWrongly, trouble);
  if (const CommandTrouble trouble = engine_trouble(options.engine); !trouble.empty()) return complain(trouble);
  if (std::string misfit = load::drum_misfit(options, raise_fd_limit()); !misfit.empty()) {
    return complain(kFailed, misfit);
  }
  OutputFile json;
  if (const std::string why = json.open(words.json); !why.empty()) return complain(kFailed, why);
  const std::expected<load::DrumOutcome, std::string> outcome = load::run_drum(options);
  return outcome ? report(words, *outcome, json) : complain(kFailed, outcome.error());
}

}  // namespace

void add_drum(CLI::App& app, int& exit_code) {
  CLI::App* drum =
      app.add_subcommand("drum", "Measure what an event loop costs, by passing bytes around a ring of socketpairs");
  auto words = std::make_shared<DrumArguments>();
  load::DrumOptions& options = words->options;
  add_number(*drum, "-n,--pairs", options.pairs, "Number of socketpairs in the ring");
  add_number(*drum, "-a,--active", options.active, "Number of bytes that travel around the ring; at most --pairs");
  add_number(*drum, "-w,--writes", options.writes, "How often a byte is passed on in a round, all bytes together");
  add_number(*drum, "--rounds", options.rounds,
             "Number of rounds, at least 2; the first one is reported apart from the others");
  drum->add_flag("--timeouts", words->timeouts,
                 "Give every socketpair an idle timer of 10 to 11 s; each byte only stores its time for the timer");
  drum->add_flag("--rearm", words->rearm, "With --timeouts: each byte moves the timer itself to its new time");
  drum->add_option("--engine", options.engine, kEngineHelp)->type_name(kEngineWords)->capture_default_str();
  drum->add_flag("--pipes", options.pipes, "Use pipes instead of socketpairs");
  drum->add_option("--json", words->json,
                   "Write the figures of every round to this file, as JSON; -: to stdout, without the report");
  drum->footer(
      "The report shows two times for a round. total: from the first registration of a socketpair to the last byte.\n"
      "loop: from the moment when all bytes are dealt out to the last byte.\n"
      "Example:\n  peal drum -n 1000 -a 100 -w 1000 --engine epoll --timeouts");
  drum->callback([words, &exit_code] { exit_code = check_and_drum(*words); });
}

}  // namespace peal::cli
