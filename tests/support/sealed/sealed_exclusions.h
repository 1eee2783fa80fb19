// SPDX-License-Identifier: BSD-3-Clause
// Lists the tests that do not run with the sealing layer or over TLS, with the reasons.
#pragma once

#include <string>
#include <string_view>

namespace peal::test {

// Returns why the current test does not run on `engine_name`, or "" if it runs. There are two possible reasons:
// - This machine does not support the engine.
// - The engine has the sealing layer or TLS above it, and sealed_exclusions.cc lists the test. That file has two lists:
//   tests that run with neither of the two layers, and tests that run with the sealing layer but not with TLS.
std::string why_not_tested(std::string_view engine_name);

}  // namespace peal::test
