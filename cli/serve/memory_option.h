// SPDX-License-Identifier: BSD-3-Clause
// add_memory(): adds the option --memory, which takes a size such as 256MiB.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace peal::cli {

// Adds --memory. The option stores the number of bytes in `place`, which must outlive `command`. 0 stands for the
// default of MemoryBudget.
void add_memory(CLI::App& command, uint64_t& place);

}  // namespace peal::cli
