// SPDX-License-Identifier: BSD-3-Clause
// The search for the faults has three steps:
//   1. run the body without faults;
//   2. leave out one kind of fault after the other;
//   3. leave out single faults by delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
//      Input", 2002).
// Leaving a fault out changes the rest of the run. So a remaining fault whose chance comes later than in the first run
// strikes at the next chance between the same hosts. A planned fault that did not strike in a failing run is not needed
// and is dropped too.
#include <peal/sim/simulate.h>

#include <algorithm>
#include <exception>
#include <memory>

#include <fmt/format.h>

#include <peal/base/exception.h>
#include <peal/sim/parts/sim_fault_streams.h>

namespace peal {
namespace {

using Faults = std::vector<SimFault>;

class Search {
 public:
  Search(SimReport& report, const SimOptions& options, const SimBody& body, uint64_t most_runs)
      : report_(report), options_(options), body_(body), most_runs_(most_runs) {}

  // Runs the body. If `only` is null, all faults may strike, otherwise only the faults in `only`. Returns true if the
  // body fails; the report describes this run then.
  bool fails(const Faults* only) {
    const auto plan =
        only == nullptr ? std::make_shared<detail::SimFaultPlan>() : std::make_shared<detail::SimFaultPlan>(*only);
    ++report_.runs;
    SimWorld world(report_.seed, options_, plan);
    try {
      if (!body_(world)) world.fail("the body answered false");
    } catch (...) {
      world.fail(std::string("it threw: ") + what_was_thrown());
    }
    if (world.failure().empty()) return false;
    report_.why = world.failure();
    report_.faults = std::move(plan->struck);
    report_.trace = world.trace_tail();
    return true;
  }

  void shrink() {
    const Faults none;
    if (report_.faults.empty() || fails(&none)) return;
    drop_kinds();
    drop_single_ones();
  }

 private:
  bool may_go_on() {
    report_.fewest = report_.runs - report_.seeds < most_runs_;
    return report_.fewest;
  }

  void drop_kinds() {
    for (size_t kind = 0; kind < kSimFaultKinds && may_go_on(); ++kind) {
      Faults rest = report_.faults;
      if (std::erase_if(rest, [kind](const SimFault& fault) { return static_cast<size_t>(fault.kind) == kind; }) > 0) {
        fails(&rest);
      }
    }
  }

  // Splits the faults into parts and tries to leave out each part. The parts become smaller until each is a single
  // fault without which the body does not fail, or until the limit of runs is reached.
  void drop_single_ones() {
    size_t parts = 2;
    while (report_.faults.size() > 1 && may_go_on()) {
      parts = std::min(parts, report_.faults.size());
      if (drop_a_part(parts)) {
        parts = std::max<size_t>(parts - 1, 2);
      } else if (may_go_on()) {
        if (parts == report_.faults.size()) return;
        parts *= 2;
      }
    }
  }

  bool drop_a_part(size_t parts) {
    const Faults all = report_.faults;
    for (size_t part = 0; part < parts && may_go_on(); ++part) {
      const auto begin = static_cast<ptrdiff_t>(all.size() * part / parts);
      const auto end = static_cast<ptrdiff_t>(all.size() * (part + 1) / parts);
      Faults rest(all.begin(), all.begin() + begin);
      rest.insert(rest.end(), all.begin() + end, all.end());
      if (fails(&rest)) return true;
    }
    return false;
  }

  SimReport& report_;
  const SimOptions& options_;
  const SimBody& body_;
  const uint64_t most_runs_;
};

}  // namespace

SimReport detail::simulate_seeds(uint64_t first, uint64_t count, const SimOptions& options, const SimBody& body,
                                 uint64_t most_runs) {
  SimReport report;
  Search search(report, options, body, most_runs);
  while (report.ok && report.seeds < count) {
    report.seed = first + report.seeds++;
    report.ok = !search.fails(nullptr);
  }
  if (report.ok) return report;
  report.struck = report.faults.size();
  search.shrink();
  return report;
}

std::string SimReport::text() const {
  if (ok && seeds > 1) return fmt::format("seeds {} to {}: no failure\n", seed + 1 - seeds, seed);
  if (ok) return fmt::format("seed {}: no failure\n", seed);
  std::string text = fmt::format("seed {} fails: {}\n", seed, why);
  if (faults.empty()) {
    text += fmt::format("  It fails without any fault; {} had struck.\n", struck);
  } else {
    text += fmt::format("  Of {} faults {} needed{}, found in {} runs:\n", struck,
                        faults.size() == 1 ? "1 is" : fmt::format("{} are", faults.size()),
                        fewest ? "" : " (there may be fewer: the search was ended)", runs - seeds);
    for (const SimFault& fault : faults) text += "    " + fault.text() + "\n";
  }
  text += "  What happened last, with these alone:\n" + trace;
  return text + fmt::format("  To see it again: simulate({}, ...)\n", seed);
}

}  // namespace peal
