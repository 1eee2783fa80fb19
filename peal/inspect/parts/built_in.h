// SPDX-License-Identifier: BSD-3-Clause
// Constants that CMake fills in when it configures built_in.cc.in: the files of the page, and how the library was
// compiled.
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
