// SPDX-License-Identifier: BSD-3-Clause
// html_escaped() escapes text for HTML. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace peal {

// Returns `text` with & < > " and ' replaced by character references. The result may stand in the body of an HTML page
// or in a quoted attribute, and browsers show it as text. It is not safe inside <script>, <style> or an unquoted
// attribute.
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
