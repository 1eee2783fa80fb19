// SPDX-License-Identifier: BSD-3-Clause
// What the build puts in: the page's files and how the library was compiled. built_in.cc.in is what CMake fills.
#pragma once

#include <string_view>

namespace peal::detail {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

extern const std::string_view kBuiltVersion;
extern const std::string_view kBuiltCompiler;
extern const std::string_view kBuiltFlags;
extern const std::string_view kBuiltSanitizers;

}  // namespace peal::detail
