// SPDX-License-Identifier: BSD-3-Clause
// The command `peal doctor`: checks which settings of the machine limit programs that use peal. It shows the command
// that changes each of these settings, but changes nothing itself.
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
#include <cli/time_option.h>
#include <load/report/report_text.h>

namespace peal::cli {
namespace {

struct DoctorArguments {
  std::string look = "500ms";
  bool json = false;
  bool all = false;
};

int look_and_tell(const DoctorArguments& words) {
  constexpr TimeOption kLook{
      .name = "--look", .takes = "a time up to 1m, such as 500ms", .most = std::chrono::minutes(1)};
  Duration look{};
  if (const std::string trouble = kLook.read(words.look, look); !trouble.empty()) {
    return complain(kCalledWrongly, trouble);
  }
  Machine machine{.files = MachineFiles("")};
  machine.before = machine.files.cpu_times();
  std::this_thread::sleep_for(look);
  machine.after = machine.files.cpu_times();
  machine.probes = probe_kernel();
  machine.tls = tls_facts();
  const Findings findings = examine(machine);
  const std::string text = words.json ? doctor_json(findings) : doctor_text(findings, words.all, paint_for(stdout));
  return say(stdout, text) ? kDone : complain(kFailed, "what was found could not be written");
}

Judged judged(const Rule& rule, const Machine& machine) {
  try {
    return rule.judge(machine);
  } catch (const NotReadable& path) {
    return {.value = "?", .here = fmt::format("Not readable here: {}.", path.what()), .health = Health::kUnknown};
  }
}

}  // namespace

Findings findings_of(std::span<const Rule> rules, std::string_view group, const Machine& machine) {
  Findings all;
  for (const Rule& rule : rules) {
    Judged found = judged(rule, machine);
    if (found.health == Health::kOk) found.mend.clear();
    all.push_back({.group = std::string(group),
                   .name = std::string(rule.name),
                   .value = std::move(found.value),
                   .what = std::string(rule.what),
                   .here = std::move(found.here),
                   .health = found.health,
                   .mend = std::move(found.mend)});
  }
  return all;
}

uint64_t needed_number(const Machine& machine, std::string_view path) {
  return needed(machine.files.number(path), path);
}

Health rated(uint64_t number, uint64_t enough, uint64_t too_little) {
  if (number >= enough) return Health::kOk;
  return number < too_little ? Health::kBad : Health::kLimits;
}

std::optional<std::vector<uint32_t>> usable_cpus(const MachineFiles& files) {
  const std::optional<std::string> line = files.line_after(kStatusFile, "Cpus_allowed_list:");
  return line ? parse_list(*line) : std::nullopt;
}

std::string raw(uint64_t number) { return number == kUnlimited ? "unlimited" : std::to_string(number); }

std::string grouped(uint64_t number) { return number == kUnlimited ? raw(number) : load::human_count(number); }

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
  CLI::App* doctor = app.add_subcommand("doctor",
                                        "Check which settings of this machine limit network programs, "
                                        "and show how to change them");
  auto words = std::make_shared<DoctorArguments>();
  doctor
      ->add_option("--look", words->look,
                   "How long to measure the CPU time that other programs and the "
                   "hypervisor take, such as 500ms; at most 1m")
      ->capture_default_str();
  doctor->add_flag("--all", words->all, "Explain the checks that are ok as well (default: only their names)");
  doctor->add_flag("--json", words->json, "Print the findings as JSON");
  doctor->footer(
      "Verdicts:\n"
      "  ok       nothing needs to be changed\n"
      "  limits   a large run will reach this limit\n"
      "  bad      ordinary runs fail, or their figures are misleading\n"
      "  unknown  this machine does not show the value\n"
      "The command changes nothing. Its exit code is 0, whatever it finds, and 2 if the command line is wrong.\n"
      "Examples:\n"
      "  peal doctor\n"
      "  peal doctor --json | jq '.findings[] | select(.verdict != \"ok\")'");
  doctor->callback([words, &exit_code] { exit_code = look_and_tell(*words); });
}

}  // namespace peal::cli
