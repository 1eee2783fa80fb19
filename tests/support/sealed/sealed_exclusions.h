// SPDX-License-Identifier: BSD-3-Clause
// The tests of streams that do not run below a layer, and why.
#pragma once

#include <string>
#include <string_view>

namespace peal::test {

// Why the test that begins now does not run on `engine_name`: this machine has no such engine, or it is sealed and the
// test is no test of what stands over a layer. Empty: it runs.
std::string why_not_tested(std::string_view engine_name);

}  // namespace peal::test
