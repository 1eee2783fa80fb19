// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_live.h>

#include <cstdlib>
#include <string_view>

namespace peal::cli {
bool speaks_utf8() {
  // The locale is named by the first of these variables that is set and not empty (POSIX, section 8.2).
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    for (const std::string_view charset : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.contains(charset)) return true;
    }
    return false;
  }
  return false;
}

LiveLine::LiveLine(const load::LoadOptions& options, const std::string& mode) : options_(options), line_(mode) {}

void LiveLine::show(const load::Interval& interval) {
  if (!line_.shows()) return;
  view_.add(interval);
  line_.draw(view_.line(options_, line_.columns(), speaks_utf8()));
}

}  // namespace peal::cli
