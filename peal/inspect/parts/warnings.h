// SPDX-License-Identifier: BSD-3-Clause
// What an operator should look at first: the list at the top of the inspector's page.
#pragma once

#include <string>
#include <vector>

#include <peal/inspect/parts/snapshot.h>

namespace peal::detail {

struct Warning {
  std::string what;  // a sentence: "loop 1 (peal-1) has not answered for 2.1 s"
  std::string link;  // the path of the page that tells more
};

// Returns the warnings that follow from a snapshot, the most urgent first:
//   - a loop does not answer
//   - a certificate has expired, or expires within 14 days
//   - the process holds more memory than a mark of MemoryBudget
//   - fewer than a tenth of the file descriptors are free
//   - a watchdog has found a stall within the last ten minutes
//   - the program has more than kMostMetrics metrics
std::vector<Warning> warnings_of(const Snapshot& snapshot);

}  // namespace peal::detail
