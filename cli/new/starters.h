// SPDX-License-Identifier: BSD-3-Clause
// The projects that `peal new` writes. They are compiled into the program from the folder starters/ of the sources,
// where they are called my_service. Values without I/O.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace peal::cli {

// One file under starters/. `folder` is the kind of the project ("tcp", "http" or "rpc"), or "shared" for a file that
// all kinds have. The text lacks the licence line of the original, because the projects belong to their users.
struct StarterFile {
  std::string_view folder;
  std::string_view path;  // relative to the folder
  std::string_view text;
};
// Returns all files of all kinds.
std::span<const StarterFile> starter_files();

struct ProjectFile {
  std::string path;  // relative to the project's folder
  std::string text;
};

inline constexpr size_t kLongestProjectName = 40;

// Returns a sentence that says why a project cannot have this name, or an empty text if it can. A name consists of
// lower-case words and digits, joined by '-' or '_'. It must not be a target of CMake or of peal's own build.
std::string project_name_trouble(std::string_view name);
// Returns the name with '_' between its words. Programs, CMake targets and protobuf packages have this form.
std::string with_underscores(std::string_view name);
// Returns the name with '-' between its words. Images of containers and units of systemd have this form.
std::string with_dashes(std::string_view name);
// Returns the files of a project of this kind, in the order of their paths, with `name` in place of my_service.
std::vector<ProjectFile> project_files(std::string_view kind, std::string_view name);

}  // namespace peal::cli
