// SPDX-License-Identifier: BSD-3-Clause
// Opens a file for Connection::send_file().
#pragma once

#include <string>

#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal {

// Opens a regular file and returns a range that covers all of it, at its present size. Errors: an errno of open(2)
// (ENOENT, EACCES, EMFILE, ...), EISDIR for a directory, EINVAL for any other file that is not regular. Blocks as long
// as open(2) does. May be called on any thread.
Result<FileRange> open_file(const std::string& path);

}  // namespace peal
