// SPDX-License-Identifier: BSD-3-Clause
// What CMake fills in when it configures built_in.cc.in: the files of the page, and how the library was compiled.
#pragma once

#include <span>
#include <string_view>

namespace peal::detail {

// A file of peal/inspect/page.
struct PageFile {
  std::string_view name;  // without the folder: "inspector.css"
  std::string_view text;
};

// Returns all files of peal/inspect/page, in the order of their names.
std::span<const PageFile> page_files();

extern const std::string_view kBuiltVersion;
extern const std::string_view kBuiltCompiler;
extern const std::string_view kBuiltFlags;
extern const std::string_view kBuiltSanitizers;

}  // namespace peal::detail
