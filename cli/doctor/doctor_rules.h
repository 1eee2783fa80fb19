// SPDX-License-Identifier: BSD-3-Clause
// What `peal doctor` judges: each rule looks at one thing, says what it limits here and how bad that is. Rules read,
// they change nothing. Where a limit stands in the text, it is one that peal itself has: 20,000 connections in the
// largest experiments, a backlog of 4,096, gates at 1 % of stolen time.
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
  TlsFacts tls = {};  // without a version: not asked
  // CPU times at the ends of a short look.
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

// All of them, in the order they are shown.
Findings examine(const Machine& machine);

// For the rules: what one says of this machine; the fields are those of a Finding.
struct Judged {
  std::string value = {};
  std::string here = {};
  Health health = Health::kOk;
  std::string mend = {};  // may be named where all is well, too: then it is not shown
};

// One thing to look at: its name, what it is, and what judges it here.
struct Rule {
  std::string_view name;
  std::string_view what;
  Judged (*judge)(const Machine& machine);
};
// What each of them finds, in their order, under the heading `group`.
Findings findings_of(std::span<const Rule> rules, std::string_view group, const Machine& machine);

// Ends a rule that cannot read what it needs, the file or folder `path`: its finding says so.
class NotReadable : public std::runtime_error {
 public:
  explicit NotReadable(std::string_view path) : runtime_error(std::string(path)) {}
};
// What a rule needs, read from `path`. Throws NotReadable where there is none.
template <class Value>
Value needed(std::optional<Value> value, std::string_view path) {
  if (!value) throw NotReadable(path);
  return std::move(*value);
}
// The number that stands in that file.
uint64_t needed_number(const Machine& machine, std::string_view path);
// Of something there should be much of: ok from `enough` on, bad below `too_little`, a limit between them.
Health rated(uint64_t number, uint64_t enough, uint64_t too_little = 0);
inline constexpr std::string_view kStatusFile = "/proc/self/status";
// The CPUs that this process may use, as that file says.
std::optional<std::vector<uint32_t>> usable_cpus(const MachineFiles& files);
// Digits in threes: 1,048,576; "unlimited" for kUnlimited.
std::string grouped(uint64_t number);
std::string raw(uint64_t number);

}  // namespace peal::cli
