// SPDX-License-Identifier: BSD-3-Clause
// run_together() runs several threads, either all of them or none.
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

// Starts one thread for each role, which runs the function of the role. Returns when all threads have ended. If a
// function returns an error, the first error is the result. If one of the threads cannot be started, fails with EAGAIN
// and runs none of the functions.
Result<void> run_together(const std::vector<ThreadRole>& roles);

}  // namespace peal::models
