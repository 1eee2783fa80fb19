// SPDX-License-Identifier: BSD-3-Clause
// Paint: adds colours to words of a report that is shown on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace peal::load {

class Paint {
 public:
  // If `on` is false, all functions of the object return their text unchanged, without colours.
  explicit Paint(bool on = false) : on_(on) {}

  std::string good(std::string_view text) const { return with("32", text); }
  std::string warning(std::string_view text) const { return with("33", text); }
  std::string bad(std::string_view text) const { return with("31", text); }
  std::string heading(std::string_view text) const { return with("1", text); }

 private:
  // Returns the text in a colour or in bold letters. If colours are off, returns the text unchanged. `code` is the
  // number that terminals use for the colour or style (Select Graphic Rendition, ECMA-48, 8.3.117).
  std::string with(std::string_view code, std::string_view text) const {
    if (!on_) return std::string(text);
    return std::string("\x1b[").append(code).append("m").append(text).append("\x1b[0m");
  }

  bool on_;
};

}  // namespace peal::load
