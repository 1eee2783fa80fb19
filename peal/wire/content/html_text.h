// SPDX-License-Identifier: BSD-3-Clause
// html_escaped(): text for a page of HTML, or for an attribute in quotes, in which nothing is markup. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace peal {

inline std::string html_escaped(std::string_view text) {
  std::string safe;
  for (const char byte : text) {
    switch (byte) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += byte;
    }
  }
  return safe;
}

}  // namespace peal
