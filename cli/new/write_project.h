// SPDX-License-Identifier: BSD-3-Clause
// Writes the files of a new project.
#pragma once

#include <string>
#include <vector>

#include <cli/new/starters.h>

namespace peal::cli {

// Writes the files into `folder`, and makes the folder and those above it if they are missing. A folder that exists
// must be empty. If that fails, removes everything that was written, and returns a sentence that says why. Returns an
// empty text if all files are written.
std::string write_project(const std::string& folder, const std::vector<ProjectFile>& files);

}  // namespace peal::cli
