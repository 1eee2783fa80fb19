// SPDX-License-Identifier: BSD-3-Clause
// run_together: threads that run all or none.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <peal/base/result.h>

namespace peal::models {

struct ThreadRole {
  std::string name;
  std::function<Result<void>()> body;
};

// Runs each on a thread of its own and waits for their ends; the first error of any is the result. If one of the
// threads cannot be started (EAGAIN), no body runs.
Result<void> run_together(const std::vector<ThreadRole>& roles);

}  // namespace peal::models
