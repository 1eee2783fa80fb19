// SPDX-License-Identifier: BSD-3-Clause
// "peal::Loop" for "N4peal4LoopE", as typeid says it; what is no such name is left as it is. Any thread.
#pragma once

#include <string>

namespace peal {

std::string demangled(const char* symbol);

}  // namespace peal
