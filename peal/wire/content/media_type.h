// SPDX-License-Identifier: BSD-3-Clause
// Media types of files, by the extension of their names. Pure functions; any thread.
#pragma once

#include <string_view>

namespace peal {

// For the Content-Type of the file with this name or path, the case of letters aside. Text comes with
// "; charset=utf-8". Empty where the extension is unknown or missing.
std::string_view media_type_of(std::string_view path);

// Whether bytes of this type, parameters aside, become notably fewer by gzip or zstd: text, JSON, XML, fonts that are
// not packed already, and the like. Case counts: types come from our own side, in lower case.
bool is_compressible(std::string_view media_type);

}  // namespace peal
