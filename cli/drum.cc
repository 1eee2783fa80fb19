// SPDX-License-Identifier: BSD-3-Clause
// `peal drum`: passes bytes around a ring of fds, and says what the event loop took for it.
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

// As they stand on the command line.
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
    return complain(kCalledWrongly, "--rearm says what happens to the idle timers, which --timeouts asks for");
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
  CLI::App* drum = app.add_subcommand("drum", "Pass bytes around a ring of socketpairs: what the event loop costs");
  auto words = std::make_shared<DrumArguments>();
  load::DrumOptions& options = words->options;
  add_number(*drum, "-n,--pairs", options.pairs, "Socketpairs in the ring");
  add_number(*drum, "-a,--active", options.active, "Bytes on their way at once");
  add_number(*drum, "-w,--writes", options.writes, "How often a byte is passed on, in all");
  add_number(*drum, "--rounds", options.rounds, "Rounds; the first stands apart");
  drum->add_flag("--timeouts", words->timeouts, "Every watcher has an idle timer of 10 to 11 s, touched at each byte");
  drum->add_flag("--rearm", words->rearm, "Each byte moves the timer itself, instead of touching it");
  drum->add_option("--engine", options.engine, "auto, io_uring, epoll, poll or select")->capture_default_str();
  drum->add_flag("--pipes", options.pipes, "Pipes instead of socketpairs");
  drum->add_option("--json", words->json, "Write the figures of every round to this file; -: to stdout, and only them");
  drum->footer(
      "total: registering all watchers anew, then the loop; loop: from there until the last byte is received.\n"
      "Example:\n  peal drum -n 1000 -a 100 -w 1000 --engine epoll --timeouts");
  drum->callback([words, &exit_code] { exit_code = check_and_drum(*words); });
}

}  // namespace peal::cli
