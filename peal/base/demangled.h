// SPDX-License-Identifier: BSD-3-Clause
// Readable names for mangled symbols and types.
#pragma once

#include <string>

namespace peal {

// Returns the C++ name of a mangled symbol or of a typeid name: "peal::Loop" for "N4peal4LoopE". A text that is not a
// mangled name is returned unchanged. Any thread.
std::string demangled(const char* symbol);

}  // namespace peal
