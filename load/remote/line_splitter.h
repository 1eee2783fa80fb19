// SPDX-License-Identifier: BSD-3-Clause
// LineSplitter: bytes in, whole lines out, in bounded memory: of a line that is too long its beginning is kept, so that
// somebody can be told of it. A plain value, no I/O.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace peal::load {

struct SplitLine {
  std::string text;  // without its end
  bool is_cut = false;
};

class LineSplitter {
 public:
  explicit LineSplitter(size_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string_view bytes);
  bool has_line() const { return !lines_.empty(); }
  std::optional<SplitLine> next();
  // What came behind the last end of a line.
  const std::string& rest() const { return begun_.text; }

 private:
  const size_t most_bytes_;
  SplitLine begun_;
  std::deque<SplitLine> lines_;
};

}  // namespace peal::load
