// SPDX-License-Identifier: BSD-3-Clause
// `peal doctor`: looks at the machine and says what it limits, in peal's terms, and how to mend that. Changes nothing.
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <cli/command.h>
#include <cli/doctor/doctor_report.h>
#include <cli/doctor/doctor_rules.h>
#include <load/plan/load_options.h>

namespace peal::cli {
namespace {

struct DoctorArguments {
  std::string look = "500ms";
  bool json = false;
};

constexpr Duration kLongestLook = std::chrono::minutes(1);

int look_and_tell(const DoctorArguments& words) {
  const std::optional<Duration> look = load::parse_duration(words.look);
  if (!look || *look > kLongestLook) {
    return complain(kCalledWrongly, fmt::format("--look takes a time up to 1m, such as 500ms, not '{}'", words.look));
  }
  Machine machine{.files = MachineFiles("")};
  machine.before = machine.files.cpu_times();
  std::this_thread::sleep_for(*look);
  machine.after = machine.files.cpu_times();
  machine.probes = probe_kernel();
  machine.tls = tls_facts();
  const Findings findings = examine(machine);
  const std::string text = words.json ? doctor_json(findings) : doctor_text(findings);
  return say(stdout, text) ? kDone : complain(kFailed, "what was found could not be written");
}

}  // namespace

Findings findings_of(std::span<const Rule> rules, std::string_view group, const Machine& machine) {
  Findings all;
  for (const Rule rule : rules) {
    all.push_back(rule(machine));
    all.back().group = group;
  }
  return all;
}

Finding not_readable(Finding found, std::string_view path) {
  found.value = "?";
  found.health = Health::kUnknown;
  found.here = fmt::format("Not readable here: {}.", path);
  found.mend.clear();
  return found;
}

std::string raw(uint64_t number) { return number == kUnlimited ? "unlimited" : std::to_string(number); }

std::string grouped(uint64_t number) {
  std::string digits = raw(number);
  if (number == kUnlimited) return digits;
  for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, 1, ',');
  return digits;
}

Findings examine(const Machine& machine) {
  Findings all;
  for (auto examine_group : {examine_descriptors, examine_sockets, examine_processors, examine_groups, examine_clocks,
                             examine_kernel, examine_tls}) {
    Findings some = examine_group(machine);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return all;
}

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* doctor = app.add_subcommand("doctor", "Say what this machine limits, and the command that mends it");
  auto words = std::make_shared<DoctorArguments>();
  doctor->add_option("--look", words->look, "How long CPU time is watched for steal and other programs")
      ->capture_default_str();
  doctor->add_flag("--json", words->json, "As JSON");
  doctor->footer(
      "Verdicts: ok; limits: a large run will meet it; bad: ordinary runs fail or mislead; unknown: not readable "
      "here.\n"
      "It changes nothing, and exits with 0 whatever it finds; with 2 when it was called wrongly.\n"
      "Example:\n"
      "  peal doctor --json | jq '.findings[] | select(.verdict != \"ok\")'");
  doctor->callback([words, &exit_code] { exit_code = look_and_tell(*words); });
}

}  // namespace peal::cli
