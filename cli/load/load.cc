// SPDX-License-Identifier: BSD-3-Clause
// The commands `peal load pingpong|echo|http TARGET`: they send messages to a server and report rates and latencies.
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <cli/command.h>
#include <cli/load/load_arguments.h>
#include <cli/load/load_find_max.h>
#include <cli/load/load_live.h>
#include <cli/load/load_outputs.h>
#include <load/load_run.h>
#include <load/report/report_text.h>

namespace peal::cli {
namespace {

std::string nothing_at_all(const load::RunRecord& record) {
  const load::Failures& failures = record.outcome.failures;
  const size_t queued = record.outcome.queued.connections;
  if (const uint64_t wrong = record.outcome.lifetime.wrong; wrong > 0) {
    const auto& [kind, failure] = *failures.kinds.begin();
    const std::string hint = kind.starts_with(load::kStatusKind) ? fmt::format(" (--expect-status {} makes it right)",
                                                                               kind.substr(load::kStatusKind.size()))
                                                                 : std::string();
    return fmt::format("none of {} from {} was correct: {}{}", load::counted(wrong, "answer"),
                       record.options.target_text, failure.first, hint);
  }
  return fmt::format("not one message came back from {}{}", record.options.target_text,
                     !failures.empty() ? ": " + failures.kinds.begin()->second.first
                     : queued > 0      ? fmt::format(": {} connections waited for their turn until the end", queued)
                                       : std::string());
}

int run_once(LoadJob& job, const LoadArguments& words, LoadOutputs& outputs) {
  job.options.interval_histograms = outputs.wants_interval_histograms(job.options);
  std::expected<load::Outcome, std::string> outcome = [&] {
    LiveLine live(job.options, words.live);
    return load::run_load(job.options, *job.protocol, [&](const load::Interval& interval, const load::Outcome& so_far) {
      live.show(interval);
      outputs.add_interval(interval, so_far);
    });
  }();
  if (!outcome) return complain(outcome.error() == load::kInterruptedEarly ? kInterrupted : kFailed, outcome.error());
  const load::RunRecord record =
      load::make_record(std::string(job.protocol->name()), job.request, job.schedule, job.options, std::move(*outcome));
  if (const std::string trouble = outputs.write(record); !trouble.empty()) return complain(kFailed, trouble);
  if (record.outcome.interrupted) return kInterrupted;
  if (record.outcome.lifetime.messages == 0) return complain(kFailed, nothing_at_all(record));
  return load::is_invalid(record.gates) ? kGateFailed : kDone;
}

int check_and_load(Experiment experiment, const LoadArguments& words) {
  std::expected<LoadJob, CommandTrouble> job = read_words(experiment, words);
  if (!job) return complain(job.error());
  if (const CommandTrouble trouble = engine_trouble(job->options.engine); !trouble.empty()) return complain(trouble);
  if (const size_t limit = raise_fd_limit(), needed = load::fds_needed(job->options); needed > limit) {
    return complain(kFailed,
                    fmt::format("{} connections need {} open fds and this process may have {}: raise the hard "
                                "limit (ulimit -Hn {}, as root) or ask for fewer",
                                job->options.connections + job->options.idle_connections, needed, limit, needed));
  }
  LoadOutputs outputs(words);
  if (const CommandTrouble trouble = outputs.prepare(); !trouble.empty()) return complain(trouble);
  const QuietHandshakes quiet(job->layer != nullptr);
  return words.find_max ? find_max(*job, words, outputs.json()) : run_once(*job, words, outputs);
}

void add_experiment(CLI::App& load, Experiment experiment, const char* name, const char* what, const char* examples,
                    int& exit_code) {
  CLI::App* command = load.add_subcommand(name, what);
  auto words = std::make_shared<LoadArguments>();
  add_load_options(*command, experiment, *words);
  command->footer(
      fmt::format("Exit codes: 0: done; 1: it failed; 2: the command line is wrong; 3: measured, but the figures "
                  "cannot be trusted; 130: interrupted.\nExamples:\n{}",
                  examples));
  command->callback([words, experiment, &exit_code] { exit_code = check_and_load(experiment, *words); });
}

}  // namespace

void add_load(CLI::App& app, int& exit_code) {
  CLI::App* load = app.add_subcommand("load", "Send load to a server and measure how it answers");
  load->require_subcommand(1);
  add_experiment(*load, Experiment::kPingPong, "pingpong",
                 "Send blocks of bytes that the server must send back; every byte is checked",
                 "  peal load pingpong 127.0.0.1:9981 --connections 100 --duration 10s\n"
                 "  peal load pingpong 127.0.0.1:9981 --connections 1000 --rate 20k/s --size 16KiB --json out.json\n"
                 "  peal load pingpong 127.0.0.1:9981 --tls --tls-ca localhost.pem --tls-name localhost",
                 exit_code);
  add_experiment(*load, Experiment::kEcho, "echo",
                 "Send frames, each a 4-byte length and that many bytes, that the server must send back; every byte is "
                 "checked",
                 "  peal load echo 127.0.0.1:9981 --connections 64 --size 1KiB --requests-per-connection 40\n"
                 "  peal load echo 127.0.0.1:9981 --connections 50 --slo p99=1ms --slo errors=0.1% --find-max\n"
                 "  peal load echo 127.0.0.1:9981 --tls --tls-insecure --handshakes --tls-resume",
                 exit_code);
  add_experiment(*load, Experiment::kHttp, "http",
                 "Send HTTP requests (HTTP/1.1); the status of every answer is checked, its length and body on request",
                 "  peal load http http://127.0.0.1:8080/collect?v=1 --connections 200 --threads 4 --duration 60s\n"
                 "  peal load http http://localhost:8080/ --rate 10k/s --arrivals poisson --expect-status 200\n"
                 "  peal load http http://localhost:8080/form --method POST --body @form.txt "
                 "--header 'Content-Type: text/plain'\n"
                 "  peal load http https://localhost:8443/ --tls-ca localhost.pem --connections 8 --handshakes",
                 exit_code);
  add_duel(*load, exit_code);
  add_agent(*load, exit_code);
  add_merge(*load, exit_code);
  add_compare(*load, exit_code);
  add_judge(*load, exit_code);
  load->footer("Examples:\n  peal load http http://127.0.0.1:8080/ --duration 10s\n  peal load http --help");
}

}  // namespace peal::cli
