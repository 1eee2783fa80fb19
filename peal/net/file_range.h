// SPDX-License-Identifier: BSD-3-Clause
// Opens a file for Connection::send_file().
#pragma once

#include <string>

#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal {

// The whole of a regular file, as long as it is now. ENOENT, EACCES, EMFILE, ...; EISDIR for a directory, EINVAL for
// what else is no regular file. Blocks for as long as open(2) does. Any thread.
Result<FileRange> open_file(const std::string& path);

}  // namespace peal
