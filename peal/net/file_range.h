// SPDX-License-Identifier: BSD-3-Clause
// Opens a file for Connection::send_file().
#pragma once

#include <string>

#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal {

// Opens a regular file and returns all of it, at its size now. Returns an errno of open(2) (ENOENT, EACCES, EMFILE,
// ...), EISDIR for a directory, EINVAL for any other file that is not regular. Blocks as long as open(2) does. Any
// thread.
Result<FileRange> open_file(const std::string& path);

}  // namespace peal
