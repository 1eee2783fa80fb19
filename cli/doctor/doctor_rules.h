// SPDX-License-Identifier: BSD-3-Clause
// The rules of `peal doctor`. Each rule looks at one property of the machine. It says what the property limits, and how
// bad that is. Rules change nothing.
//
// The numbers in the rules are those of peal. The largest run has about 20,000 fds. Listeners ask for a backlog of
// 4,096. A run is marked NOISY if the hypervisor takes more than 1 % of the CPU time.
#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cli/doctor/finding.h>
#include <cli/doctor/kernel_probes.h>
#include <cli/doctor/machine_files.h>
#include <peal/tls/tls_facts.h>

namespace peal::cli {

struct Machine {
  MachineFiles files;
  KernelProbes probes = {};
  TlsFacts tls = {};  // tls.version is empty if OpenSSL was not queried
  // The CPU times since boot, read before and after a pause. Their difference shows how busy the CPUs were during the
  // pause, and how much time the hypervisor took from them. The option --look sets the length of the pause. The times
  // are empty if /proc/stat cannot be read.
  std::optional<CpuTimes> before = {};
  std::optional<CpuTimes> after = {};
};

Findings examine_descriptors(const Machine& machine);
Findings examine_sockets(const Machine& machine);
Findings examine_processors(const Machine& machine);
Findings examine_groups(const Machine& machine);
Findings examine_clocks(const Machine& machine);
Findings examine_kernel(const Machine& machine);
Findings examine_tls(const Machine& machine);

// Applies all rules of `peal doctor` to the machine. Returns one finding for each rule.
Findings examine(const Machine& machine);

// Judged: the result of a rule. It is copied to the fields of a Finding that have the same names.
struct Judged {
  std::string value = {};
  std::string here = {};
  Health health = Health::kOk;
  std::string mend = {};  // the command that improves the value; ignored if health is kOk
};

// Rule: checks one property of the machine. It has the property's name, an explanation, and a function that judges it.
struct Rule {
  std::string_view name;
  std::string_view what;
  Judged (*judge)(const Machine& machine);
};
// Applies `rules` in their order, and returns one finding for each. `group` is the heading of these findings in the
// report.
Findings findings_of(std::span<const Rule> rules, std::string_view group, const Machine& machine);

// NotReadable: a rule throws it if it cannot read the file or folder `path`. The finding of that rule is then kUnknown
// and names `path`.
class NotReadable : public std::runtime_error {
 public:
  explicit NotReadable(std::string_view path) : runtime_error(std::string(path)) {}
};
// Returns the content of `value`. Throws NotReadable if `value` is empty. `path` is the file or folder that the value
// was read from.
template <class Value>
Value needed(std::optional<Value> value, std::string_view path) {
  if (!value) throw NotReadable(path);
  return std::move(*value);
}
// Returns the number in the file `path`. Throws NotReadable if the file cannot be read or does not begin with a number.
uint64_t needed_number(const Machine& machine, std::string_view path);
// Rates a number that should be large:
// - kOk: the number is at least `enough`.
// - kBad: the number is less than `enough` and less than `too_little`. With the default 0, no number is bad.
// - kLimits: the number is less than `enough`, but not bad.
Health rated(uint64_t number, uint64_t enough, uint64_t too_little = 0);
inline constexpr std::string_view kStatusFile = "/proc/self/status";
// Returns the numbers of the CPUs that this process may use. Reads them from /proc/self/status, and returns nothing if
// they cannot be read.
std::optional<std::vector<uint32_t>> usable_cpus(const MachineFiles& files);
// Returns the number as a text with commas between groups of three digits, such as 1,048,576. Returns "unlimited" for
// kUnlimited.
std::string grouped(uint64_t number);
// Returns the number as a text without commas, as the kernel's files show it. Returns "unlimited" for kUnlimited.
std::string raw(uint64_t number);

}  // namespace peal::cli
