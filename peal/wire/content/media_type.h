// SPDX-License-Identifier: BSD-3-Clause
// Finds the media type of a file by the extension of its name. Pure functions; any thread.
#pragma once

#include <string_view>

namespace peal {

// Returns the value of the Content-Type field for the file with this name or path. The extension may be in any case of
// letters. Types of text end with "; charset=utf-8", except text/rtf. Returns an empty view if the extension is unknown
// or missing. The view is valid forever.
std::string_view media_type_of(std::string_view path);

// True if gzip or zstd makes files of this type notably smaller, such as text, JSON, XML and uncompressed fonts.
// Parameters of the type are ignored. The type must be in lower case, because it comes from the server and not from a
// peer.
bool is_compressible(std::string_view media_type);

}  // namespace peal
